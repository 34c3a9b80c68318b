package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// TestDamage checks that one changed byte causes an error in the reads that include it, and in no other read, in each protocol.
// An answer in progress breaks off and is never padded.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.nc")
	write(t, name)
	want := converted(t, name)
	const rec = 1
	sub := name + ".0000"
	b, err := os.ReadFile(sub)
	ok(t, err)
	at := bytes.Index(b, binary.BigEndian.AppendUint64(nil, math.Float64bits(value(rec, 2, 3))))
	if at < 0 {
		t.Fatal("the element is not there")
	}
	b[at] ^= 1
	ok(t, os.WriteFile(sub, b, 0o666))

	x := start(t, dir, nil)
	for r := range records {
		status := http.StatusOK
		if r == rec {
			status = http.StatusInternalServerError
		}
		body := string(x.get(t, status, fmt.Sprintf("/dap/x.nc.dods?T[%d]", r)+"[0:2][0:39]"))
		if r == rec && (!strings.HasPrefix(body, "Error {\n    code = 1007;") || !strings.Contains(body, "x.nc.0000") || strings.Contains(body, dir)) {
			t.Errorf("%s", body)
		}
		x.get(t, status, fmt.Sprintf("/dap/x.nc.ascii?T[%d][2][0:9]", r))
	}
	x.get(t, http.StatusOK, "/dap/x.nc.dods?lev")
	for _, good := range []string{"T[1][0][20:39]", "T[1][0:2][20:39]", "T[1][0:2:2][21:2:39]", "T[1][2:2][39]"} { // in the other subfile
		x.get(t, http.StatusOK, "/dap/x.nc.dods?"+good)
	}
	x.get(t, http.StatusInternalServerError, "/dap/x.nc.dods?T[1][0:2][19:39]")

	r, err := blob.Open(t.Context(), name, nil)
	ok(t, err)
	defer r.Close()
	c, err := r.Canonical(nil)
	ok(t, err)
	h := c.Header()
	for v := range h.Vars {
		for k := range int64(records) {
			off, n := h.Extent(v, k)
			rng := fmt.Sprintf("Range: bytes=%d-%d", off, off+n-1)
			if h.Vars[v].Name == "T" && k == rec {
				text := string(x.get(t, http.StatusInternalServerError, "/files/x.nc", rng))
				if !strings.Contains(text, "x.nc.0000") || !strings.Contains(text, "checksum") {
					t.Errorf("%s", text)
				}
			} else if got := x.get(t, http.StatusPartialContent, "/files/x.nc", rng); !bytes.Equal(got, want[off:off+n]) {
				t.Errorf("%s of record %d differs", h.Vars[v].Name, k)
			}
		}
	}
	if !strings.Contains(x.log.String(), "500 ") || !strings.Contains(x.log.String(), "checksum") {
		t.Errorf("log:\n%s", x.log)
	}
}

// TestBreaksOff checks that an error after the first bytes closes the connection before the announced length.
func TestBreaksOff(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.nc")
	const n = 8 << 20 // elements: more than connections can buffer
	x := start(t, dir, nil)
	for _, path := range []string{"/files/x.nc", "/dap/x.nc.dods?x", "/dap/x.nc.ascii?x"} {
		large(t, name, n)
		resp := x.ask(t, http.MethodGet, path)
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, resp.Status, err)
		}
		ok(t, os.Truncate(name, 1000))
		if got, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d bytes, then %v, want an end in the middle", path, got, err)
		}
	}
	x.Close() // flushes the log
	if n := strings.Count(x.log.String(), " 200* "); n != 3 {
		t.Errorf("%d answers are told to have broken off, want 3:\n%s", n, x.log)
	}
}

// TestNetCDFClientIsTold checks that the netCDF library gets an error instead of a partial answer, because it would treat a
// partial answer as complete.
func TestNetCDFClientIsTold(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.nc")
	zeros(t, name, 1<<20, cdf5.Int64)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	ok(t, err)
	defer f.Close()
	info, err := f.Stat()
	ok(t, err)
	ok(t, os.Truncate(name, info.Size()-8))
	_, err = f.Write(binary.BigEndian.AppendUint64(nil, 1<<53+1)) // a double cannot hold the last element
	ok(t, err)
	x := start(t, dir, nil)
	body := string(x.get(t, http.StatusInternalServerError, "/dap/x.nc.dods?x", "User-Agent: oc4.9.0"))
	if !strings.HasPrefix(body, "Error {") || !strings.Contains(body, "requested element 1048575 is 9007199254740993") {
		t.Errorf("%.300s", body)
	}
	x.get(t, http.StatusOK, "/dap/x.nc.dods?x[0:1048574]", "User-Agent: oc4.9.0")
	if _, err := io.Copy(io.Discard, x.ask(t, http.MethodGet, "/dap/x.nc.dods?x").Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("another client: %v, want an end in the middle", err)
	}
}

// TestPrefetch checks damage in a prefetch. The netCDF library requests many variables at once and replaces missing parts by
// zeros. If one variable is damaged, the error says how to read the other variables separately, and these can be read.
func TestPrefetch(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	b, err := os.ReadFile(filepath.Join(dir, "x.nc.0000"))
	ok(t, err)
	b[len(b)-1] ^= 1
	ok(t, os.WriteFile(filepath.Join(dir, "x.nc.0000"), b, 0o666))
	s := start(t, dir, nil)
	agent := "User-Agent: oc4.9.0"
	var names, bad []string
	for _, v := range variables(t, filepath.Join(dir, "x.nc")) {
		names = append(names, v)
		if r := s.ask(t, http.MethodGet, "/dap/x.nc.dods?"+v, agent); r.StatusCode != http.StatusOK {
			bad = append(bad, v)
		}
	}
	if len(bad) != 1 || len(names) < 2 {
		t.Fatalf("damaged are %v of %v", bad, names)
	}
	if said := string(s.get(t, http.StatusInternalServerError, "/dap/x.nc.dods?"+strings.Join(names, ","), agent)); !strings.Contains(said, "[noprefetch]") || !strings.Contains(said, bad[0]) {
		t.Errorf("%s", said)
	}
	if said := string(s.get(t, http.StatusInternalServerError, "/dap/x.nc.dods?"+bad[0], agent)); strings.Contains(said, "[noprefetch]") {
		t.Errorf("alone: %s", said)
	}
}

// variables returns the names of the variables of a dataset.
func variables(t *testing.T, name string) (names []string) {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	ok(t, err)
	defer r.Close()
	for _, v := range r.Schema().Vars() {
		names = append(names, v.Name)
	}
	return names
}

// TestAllowMissing checks reads of data in a missing subfile, as a file and by DAP2. They are an error or, with AllowMissing,
// give the fill value or zero. When the subfile exists again, its data are read.
func TestAllowMissing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.nc")
	write(t, name)
	lost := name + ".0001"
	b, err := os.ReadFile(lost)
	ok(t, err)
	whole := start(t, dir, nil).get(t, http.StatusOK, "/files/x.nc")
	ok(t, os.Remove(lost))
	strict := start(t, dir, nil)
	strict.get(t, http.StatusOK, "/dap/x.nc.dds")
	if r := strict.ask(t, http.MethodGet, "/files/x.nc"); r.StatusCode == http.StatusOK {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("a missing subfile is no error")
		}
	}
	for _, zero := range []bool{false, true} {
		ok(t, errOr(os.Remove(lost)))
		out := filepath.Join(t.TempDir(), "out.nc")
		r, err := blob.Open(t.Context(), name, &blob.OpenOptions{AllowMissing: true})
		ok(t, err)
		ok(t, blob.Convert(t.Context(), r, out, &blob.ConvertOptions{FillMissing: true, ZeroFill: zero, Durability: blob.DurableNone}))
		ok(t, r.Close())
		want, err := os.ReadFile(out)
		ok(t, err)
		s := start(t, dir, &Options{AllowMissing: true, ZeroFill: zero})
		if got := s.get(t, http.StatusOK, "/files/x.nc"); !bytes.Equal(got, want) {
			t.Errorf("zero %v: %d bytes that differ from the %d of Convert", zero, len(got), len(want))
		}
		text := string(s.get(t, http.StatusOK, "/dap/x.nc.ascii?T"))
		if strings.Contains(text, "e+36") == zero {
			t.Errorf("zero %v: %.300s", zero, text)
		}
		ok(t, os.WriteFile(lost, b, 0o666))
		if got := s.get(t, http.StatusOK, "/files/x.nc"); !bytes.Equal(got, whole) {
			t.Errorf("zero %v: it is there again, and its bytes are not", zero)
		}
	}
}

// errOr ignores the error if there is nothing to remove.
func errOr(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
