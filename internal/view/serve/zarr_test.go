package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/view/serve"
	"blobio/internal/view/zarr"
)

// zarrColumns is the number of columns in these tests: each record of T fills a chunk of the minimum size.
const zarrColumns = 1024

// writeZarr writes two subfiles with T(time, ncol), element i of a record is seed + 1e4*record + i, and a scalar.
func writeZarr(t *testing.T, name string, seed float64, records int64) {
	t.Helper()
	o := &blob.Options{Subfiles: 2, Durability: blob.DurableNone, Force: true}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		const n = zarrColumns / 2
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", zarrColumns)
		d := s.Decomp(col)
		v := s.Var("T", cdf5.Float, []blob.DimID{tm, col}, blob.Decomposed(d))
		p0 := s.Var("zarr.json.not", cdf5.Int, nil)
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}, o)
		if err != nil {
			return err
		}
		err = blob.Put(w, p0, 0, []int32{7})
		for rec := range records {
			data := make([]float32, n)
			for i := range data {
				data[i] = float32(seed + 1e4*float64(rec) + float64(c.Rank()*n+i))
			}
			err = errors.Join(err, blob.Put(w, v, rec, data))
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
}

// zarrServer serves a directory.
func zarrServer(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	s, err := serve.New(dir, &serve.Options{ZarrChunk: zarr.MinChunk})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func ask(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(b)
}

// TestZarr checks that every key of both versions has the value of the store, by GET, HEAD, ranges and conditions.
func TestZarr(t *testing.T) {
	dir := t.TempDir()
	writeZarr(t, filepath.Join(dir, "deep", "er", "d.nc"), 1, 3)
	h := zarrServer(t, dir)
	r, err := blob.Open(t.Context(), filepath.Join(dir, "deep", "er", "d.nc"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for word, version := range map[string]zarr.Version{"/zarr/": zarr.V2, "/zarr3/": zarr.V3} {
		s, err := zarr.New(r, &zarr.Options{Version: version, ChunkBytes: zarr.MinChunk})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for key := range s.Keys() {
			n++
			url := h.URL + word + "deep/er/d.nc/" + key
			want, err := s.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			a, got := ask(t, "GET", url)
			kind := a.Header.Get("Content-Type")
			if a.StatusCode != 200 || got != string(want) || s.IsChunk(key) != (kind == "application/octet-stream") || !s.IsChunk(key) && !json.Valid([]byte(got)) {
				t.Fatalf("%s: %s, %d bytes of %s, want %d", url, a.Status, len(got), kind, len(want))
			}
			tag := a.Header.Get("ETag")
			if a, got := ask(t, "HEAD", url); a.ContentLength != int64(len(want)) || got != "" || a.Header.Get("ETag") != tag || tag == "" {
				t.Errorf("HEAD %s: %d bytes, want %d; ETag %s", url, a.ContentLength, len(want), tag)
			}
			if a, _ := ask(t, "GET", url, "If-None-Match", tag); a.StatusCode != http.StatusNotModified {
				t.Errorf("%s with its ETag: %s", url, a.Status)
			}
			if a, got := ask(t, "GET", url, "Range", "bytes=1-2"); a.StatusCode != http.StatusPartialContent || got != string(want[1:3]) {
				t.Errorf("two bytes of %s: %s %q", url, a.Status, got)
			}
		}
		if n < 7 {
			t.Errorf("%d keys", n)
		}
	}
}

// TestZarrAbsent checks that 404 means missing metadata only. A reader would replace a chunk with status 404 by fill values.
func TestZarrAbsent(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "d.nc")
	writeZarr(t, name, 1, 3)
	h := zarrServer(t, dir)
	for path, want := range map[string]int{
		"/zarr/": 404, "/zarr3": 404, "/zarr/d.nc": 404, "/zarr/d.nc/": 404, "/zarr/d.nc/T": 404, "/zarr/d.nc/.zgroup": 200, "/zarr/d.nc/zarr.json": 404, "/zarr3/d.nc/zarr.json": 200,
		"/zarr/d.nc/U/.zarray": 404, "/zarr3/d.nc/U/zarr.json": 404, "/zarr/none/.zgroup": 404, "/zarr/.zgroup": 404, "/zarr/none/T/.zarray": 404,
		"/zarr/d.nc/T/0.0": 200, "/zarr/d.nc/T/3.0": 410, "/zarr/d.nc/T/0": 410, "/zarr/d.nc/U/0.0": 410, "/zarr/none/T/0.0": 410, "/zarr/d.nc/zarr.json.not/0": 200,
		"/zarr3/d.nc/T/c.0.0": 200, "/zarr3/d.nc/T/c.3.0": 410, "/zarr3/d.nc/T/c.00.0": 410, "/zarr3/none/T/c.0.0": 410, "/zarr3/none/T/c": 410, "/zarr3/d.nc/zarr.json.not/c": 200,
		"/zarr3/d.nc/T/0.0": 404, "/zarr/d.nc/../d.nc/.zgroup": 404, "/zarr/%2e%2e/d.nc/.zgroup": 404,
	} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, a.Status, want)
		}
	}
	if _, got := ask(t, "GET", h.URL+"/zarr/d.nc/T/.zarray"); !strings.Contains(got, `"shape"`) {
		t.Error(got)
	}
	// After replacement by a shorter dataset with other values, no old chunk may be served.
	old, was := ask(t, "GET", h.URL+"/zarr/d.nc/T/0.0")
	writeZarr(t, name, 2, 2)
	now, is := ask(t, "GET", h.URL+"/zarr/d.nc/T/0.0")
	if is == was || old.Header.Get("ETag") == now.Header.Get("ETag") {
		t.Errorf("the same as before it was replaced, ETag %s", now.Header.Get("ETag"))
	}
	if a, _ := ask(t, "GET", h.URL+"/zarr/d.nc/T/2.0"); a.StatusCode != http.StatusGone {
		t.Errorf("a chunk of the former one: %s", a.Status)
	}
	for _, s := range []string{".manifest", ".0000", ".0001"} {
		if err := os.Remove(name + s); err != nil {
			t.Fatal(err)
		}
	}
	if a, _ := ask(t, "GET", h.URL+"/zarr/d.nc/T/0.0"); a.StatusCode != http.StatusGone {
		t.Errorf("a chunk of a dataset that was removed: %s", a.Status)
	}
	if a, _ := ask(t, "GET", h.URL+"/zarr/d.nc/.zmetadata"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a dataset that was removed: %s", a.Status)
	}
}

// TestZarrDamaged checks that a damaged byte and a missing subfile are errors of the affected chunks, never fill values and never
// 404.
func TestZarrDamaged(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "d.nc")
	writeZarr(t, name, 1, 3)
	b, err := os.ReadFile(name + ".0001")
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-5] ^= 4 // in the last record
	if err := os.WriteFile(name+".0001", b, 0o666); err != nil {
		t.Fatal(err)
	}
	h := zarrServer(t, dir)
	for _, path := range []string{"/zarr/d.nc/T/2.0", "/zarr3/d.nc/T/c.2.0"} {
		if a, got := ask(t, "GET", h.URL+path); a.StatusCode != 500 || !strings.Contains(got, "manifest") || strings.Contains(got, dir) {
			t.Errorf("%s: %s %q", path, a.Status, got)
		}
		if a, _ := ask(t, "GET", h.URL+strings.Replace(path, "2.0", "1.0", 1)); a.StatusCode != 200 {
			t.Errorf("its neighbour: %s", a.Status)
		}
		// zarr 2 for Python replaces a chunk by fill values after an error status, but reports a chunk of the wrong length.
		a, got := ask(t, "GET", h.URL+path, "User-Agent", "Python/3.11 aiohttp/3.8.4")
		if v2 := strings.HasPrefix(path, "/zarr/"); v2 && (a.StatusCode != 200 || got != "" || a.Header.Get("ETag") != "") || !v2 && a.StatusCode != 500 {
			t.Errorf("%s for fsspec: %s, %d bytes", path, a.Status, len(got))
		}
	}
	if err := os.Remove(name + ".0001"); err != nil {
		t.Fatal(err)
	}
	h = zarrServer(t, dir) // the other server has the file open
	for _, path := range []string{"/zarr/d.nc/T/0.0", "/zarr3/d.nc/T/c.0.0", "/zarr/d.nc/T/2.0"} {
		if a, got := ask(t, "GET", h.URL+path); a.StatusCode != 500 {
			t.Errorf("%s without a subfile: %s, %d bytes", path, a.Status, len(got))
		}
	}
}
