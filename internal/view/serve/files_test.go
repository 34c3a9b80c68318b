package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// TestFiles checks that the bytes equal Convert's output, as a whole and in ranges.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(dir, "a b"), 0o777))
	write(t, filepath.Join(dir, "a b", "x%.nc"))
	want := converted(t, filepath.Join(dir, "a b", "x%.nc"))
	x := start(t, dir, nil)
	const path = "/files/a%20b/x%25.nc"
	resp := x.ask(t, http.MethodGet, path)
	b, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(b, want) {
		t.Errorf("%d bytes (%v), want the %d that Convert writes", len(b), err, len(want))
	}
	tag, date := resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	if len(tag) < 10 || date == "" || resp.Header.Get("Accept-Ranges") != "bytes" || resp.Header.Get("Content-Type") != "application/x-netcdf" {
		t.Errorf("headers %v", resp.Header)
	}
	if head := x.ask(t, http.MethodHead, path); head.StatusCode != 200 || head.ContentLength != int64(len(want)) || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD: %s %v", head.Status, head.Header)
	}
	n := len(want)
	for rng, part := range map[string][]byte{"0-0": want[:1], "5-104": want[5:105], "-10": want[n-10:], fmt.Sprintf("%d-", n-3): want[n-3:], "100-999999": want[100:]} {
		if got := x.get(t, http.StatusPartialContent, path, "Range: bytes="+rng); !bytes.Equal(got, part) {
			t.Errorf("range %s: %d bytes that differ from %d", rng, len(got), len(part))
		}
	}
	x.get(t, http.StatusRequestedRangeNotSatisfiable, path, "Range: bytes=999999-")
	x.get(t, http.StatusRequestedRangeNotSatisfiable, path, "Range: bytes=0-0"+strings.Repeat(",5-5", 100))
	x.get(t, http.StatusNotModified, path, "If-None-Match: "+tag)
	x.get(t, http.StatusNotModified, path, "If-Modified-Since: "+date)
	if got := x.get(t, http.StatusPartialContent, path, "Range: bytes=1-2", "If-Range: "+tag); len(got) != 2 {
		t.Errorf("If-Range gives %d bytes", len(got))
	}
	if got := x.get(t, http.StatusOK, path, "Range: bytes=1-2", `If-Range: "other"`); len(got) != n {
		t.Errorf("If-Range of another state gives %d bytes, want all", len(got))
	}

	if got := x.get(t, http.StatusOK, path, "Range: bytes=1-2", "If-Range: "+date); len(got) != n {
		t.Errorf("If-Range of a second, which may have had two states, gives %d bytes, want all", len(got))
	}
	if got := x.get(t, http.StatusOK, path, "Range: chunks=1-2"); len(got) != n {
		t.Errorf("a range of what are no bytes gives %d bytes, want all", len(got))
	}

	resp = x.ask(t, http.MethodGet, path, "Range: bytes=5-9,50-99,-4")
	_, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ok(t, err)
	parts := multipart.NewReader(resp.Body, params["boundary"])
	for _, part := range [][]byte{want[5:10], want[50:100], want[n-4:]} {
		p, err := parts.NextPart()
		ok(t, err)
		if got, err := io.ReadAll(p); err != nil || !bytes.Equal(got, part) {
			t.Errorf("part %s: %d bytes (%v)", p.Header.Get("Content-Range"), len(got), err)
		}
	}
}

// TestReplaced checks that a replaced dataset has another ETag, and a removed one is gone.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, nil)
	tag := x.ask(t, http.MethodHead, "/files/x.nc").Header.Get("ETag")
	for _, f := range []string{"x.nc.0000", "x.nc.0001", "x.nc.manifest"} {
		x.get(t, http.StatusNotFound, "/files/"+f) // hidden
		ok(t, os.Remove(filepath.Join(dir, f)))
	}
	x.get(t, http.StatusNotFound, "/files/x.nc")
	x.get(t, http.StatusNotFound, "/dap/x.nc.dds")
	large(t, filepath.Join(dir, "x.nc"), 10)
	if now := x.ask(t, http.MethodHead, "/files/x.nc").Header.Get("ETag"); now == tag || now == "" {
		t.Errorf("ETag %s, was %s", now, tag)
	}
	x.get(t, http.StatusOK, "/files/x.nc", "If-None-Match: "+tag)
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(dir, "<b>"), 0o777))
	write(t, filepath.Join(dir, "<b>", `"><script>.nc`))
	write(t, filepath.Join(dir, "x.nc"))
	ok(t, os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("secret"), 0o666))
	x := start(t, dir, nil)
	var l listing
	ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/", "Accept: application/json"), &l))
	if len(l.Entries) != 2 || l.Entries[0].URL != "/files/%3Cb%3E/" || l.Entries[1].Name != "x.nc" || *l.Entries[1].Records != records || l.Entries[1].DAP != "/dap/x.nc" || l.Entries[1].Zarr != "/zarr/x.nc" ||
		l.Entries[1].Size != int64(len(converted(t, filepath.Join(dir, "x.nc")))) {
		t.Errorf("%+v", l)
	}
	html := string(x.get(t, http.StatusOK, l.Entries[0].URL, "Accept: text/html,application/json;q=0.5"))
	if strings.Contains(html, "<script>") || strings.Contains(html, "<b>") || !strings.Contains(html, `href="/files/%3Cb%3E/%22%3E%3Cscript%3E.nc"`) {
		t.Errorf("%s", html)
	}
	if !strings.Contains(string(x.get(t, http.StatusOK, "/static/view.css")), "color-scheme") {
		t.Error("no style")
	}
	if to := x.ask(t, http.MethodGet, "/files/%3Cb%3E").Header.Get("Location"); to != "/files/%3Cb%3E/" {
		t.Errorf("a directory without its slash leads to %q", to)
	}
	for _, path := range []string{"/files/nothing/", "/files/nothing", "/files/x.nc/", "/nothing", "/static/", "/static/nothing.css", "/static/../server.go"} {
		x.get(t, http.StatusNotFound, path)
	}
	x.get(t, http.StatusInternalServerError, "/files/secret.txt") // the file is not netCDF, so its content is not served
}

// TestManyEntries checks that a directory of any size is served in consecutive pages.
func TestManyEntries(t *testing.T) {
	dir := t.TempDir()
	const n = 2*pageLength + 7
	for i := range n {
		ok(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%05d &+", i)), 0o777))
	}
	x := start(t, dir, nil)
	seen, path := 0, "/files/"
	for range 4 {
		var l listing
		ok(t, json.Unmarshal(x.get(t, http.StatusOK, path, "Accept: application/json"), &l))
		seen += len(l.Entries)
		if len(l.Entries) > pageLength {
			t.Errorf("%d entries at once", len(l.Entries))
		}
		if l.Next == "" {
			break
		}
		html := string(x.get(t, http.StatusOK, path))
		_, rest, _ := strings.Cut(html, `<a href="/files/?`)
		query, _, _ := strings.Cut(rest, `"`)
		path = "/files/?" + strings.ReplaceAll(query, "&amp;", "&")
	}
	if seen != n {
		t.Errorf("%d entries, want %d", seen, n)
	}
}

// TestPlainFile checks that an ordinary netCDF file is sent unchanged, and other files are not.
func TestPlainFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	r, err := blob.Open(t.Context(), filepath.Join(dir, "x.nc"), nil)
	ok(t, err)
	defer r.Close()
	for name, o := range map[string]*blob.ConvertOptions{"old.nc": {Version: cdf5.CDF2}, "new.nc4": {NetCDF4: &blob.NetCDF4Options{}}} {
		o.Durability = blob.DurableNone
		ok(t, blob.Convert(t.Context(), r, filepath.Join(dir, name), o))
	}
	ok(t, os.WriteFile(filepath.Join(dir, "notes.nc"), []byte("not for everybody"), 0o666))
	x := start(t, dir, nil)
	for _, name := range []string{"old.nc", "new.nc4"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		ok(t, err)
		if got := x.get(t, http.StatusOK, "/files/"+name); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes that differ from the %d of the file", name, len(got), len(want))
		}
		if got := x.get(t, http.StatusPartialContent, "/files/"+name, "Range: bytes=3-9"); !bytes.Equal(got, want[3:10]) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := x.get(t, http.StatusInternalServerError, "/files/notes.nc"); bytes.Contains(got, []byte("everybody")) {
		t.Errorf("%q", got)
	}
}
