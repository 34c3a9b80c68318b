package serve

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
)

// secret is the content of a file beside the served directory.
const secret = "a secret that lies outside"

// guarded makes a directory with a dataset, and a secret beside it that links point to.
func guarded(t testing.TB) (dir string) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "served")
	ok(t, os.Mkdir(dir, 0o777))
	write(t, filepath.Join(dir, "x.nc"))
	ok(t, os.WriteFile(filepath.Join(top, "secret.nc"), []byte(secret), 0o666))
	write(t, filepath.Join(top, "outside.nc"))
	for name, to := range map[string]string{"link.nc": "../secret.nc", "up": "..", "abs.nc": filepath.Join(top, "secret.nc"), "o.nc.0000": "../outside.nc.0000", "o.nc.0001": "../outside.nc.0001", "o.nc.manifest": "../outside.nc.manifest"} {
		ok(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	return dir
}

// ask sends one raw request line to a server and returns the answer.
func ask(t testing.TB, s *Server, target string) *http.Response {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")))
	if err != nil {
		return nil // net/http itself answers 400
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r.WithContext(t.Context()))
	return w.Result()
}

func inspect(t testing.TB, dir, target string, resp *http.Response) {
	t.Helper()
	if resp == nil {
		return
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%q: %v", target, err)
	}
	switch resp.StatusCode {
	case 200, 301, 400, 404, 410, 500:
	default:
		t.Errorf("%q: status %d", target, resp.StatusCode)
	}
	if resp.StatusCode == 500 && !bytes.Contains(b, []byte("not this format")) {
		t.Errorf("%q: %.200s", target, b)
	}
	if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte(filepath.Dir(dir))) {
		t.Errorf("%q tells what is outside: %.300s", target, b)
	}
	if to := resp.Header.Get("Location"); to != "" && (!strings.HasPrefix(to, "/files/") || strings.HasPrefix(to, "//")) {
		t.Errorf("%q leads to %q", target, to)
	}
	kind := resp.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/html") && resp.StatusCode != 200 || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q: status %d is %s", target, resp.StatusCode, kind)
	}
	if own := bytes.ReplaceAll(b, []byte(`<script src="/static/`), nil); strings.HasPrefix(kind, "text/html") && bytes.Contains(own, []byte("<script")) {
		t.Errorf("%q puts a script into a page", target)
	}
}

var words = []string{"/", "//", "..", ".", "%2e%2e", "%2F", "%5c", "\\", "%00", "%", "%zz", "%ff", "x.nc", "x.nc.0000", "x.nc.manifest", "link.nc", "up", "abs.nc", "o.nc", "secret.nc", "outside.nc",
	"files", "dap", "zarr", "zarr3", ".zarray", "zarr.json", "0.0", "c.0", "c", "static", "view.css", "etc/passwd", ".dods", ".dds", ".das", ".ascii", ".info", ".ver", "?", "T", "lev", "T.T", "[0]", "[0:1]", "[0:2:2]", "[-1]", "[9999999999999999999]", "[", "]", ",", "&", "=", ";",
	"<script>alert(1)</script>", "%3Cscript%3E", "\"'>", "geogrid(1)", "from=", "%0d%0aX:y", "\x01", "é", "%C3%A9", "http://evil.example.org", "@", ":", "#", "*", "~", strings.Repeat("a", 300), strings.Repeat("/..", 40)}

// TestHostileURLs checks 10,000 requests made of hostile pieces: each answer is an error or content of the directory.
func TestHostileURLs(t *testing.T) {
	dir := guarded(t)
	s := newServer(t, dir, nil)
	for _, target := range []string{"/files/../secret.nc", "/files/%2e%2e/secret.nc", "/files/..%2Fsecret.nc", "/files/link.nc", "/files/abs.nc", "/files/up/secret.nc", "/files/up/", "/files/up", "/files/o.nc", "/dap/o.nc.dds",
		"/dap/../outside.nc.dds", "/dap/up/outside.nc.dds", "/files//etc/passwd", "/files/x.nc%00", "//files/x.nc", "//", "/%2Ffiles/x.nc", "//zarr/x.nc/T/0.0.0", "/files/./x.nc", "/static/../guard.go", "/static/%2e%2e/guard.go", "/files/x.nc.0000"} {
		resp := ask(t, s, target)
		inspect(t, dir, target, resp)
		if resp != nil && resp.StatusCode != http.StatusNotFound {
			t.Errorf("%q: status %d, want 404", target, resp.StatusCode)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	by := map[int]int{}
	for range crashtest.Times(3000, 10000) {
		var b strings.Builder
		b.WriteString([]string{"/files/", "/dap/", "/dap/x.nc.dods?", "/dap/x.nc.ascii?T", "/static/", "/", "/files/?from=", "/zarr/x.nc/", "/zarr3/x.nc/T/", "/zarr/"}[rnd.IntN(10)])
		for range rnd.IntN(6) {
			b.WriteString(words[rnd.IntN(len(words))])
		}
		target := strings.ReplaceAll(b.String(), " ", "%20")
		resp := ask(t, s, target)
		inspect(t, dir, target, resp)
		if resp != nil {
			by[resp.StatusCode]++
		}
	}
	t.Logf("answers by status: %v", by)
	if by[200] < 100 || by[400] < 100 || by[404] < 100 {
		t.Errorf("the requests are of too few kinds: %v", by)
	}
}

// FuzzURL checks that the answer to any path and query is an error or content of the directory.
func FuzzURL(f *testing.F) {
	for _, w := range words {
		f.Add("/files/"+w, w)
		f.Add("/dap/x.nc.dods", w)
		f.Add("/dap/"+w+".dds", "")
		f.Add("/zarr/x.nc/"+w, "")
		f.Add("/zarr3/"+w+"/T/c.0.0.0", "")
	}
	dir := guarded(f)
	s := newServer(f, dir, nil)
	f.Fuzz(func(t *testing.T, path, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query}, RequestURI: path, Host: "localhost", Header: http.Header{}, RemoteAddr: "127.0.0.1:1"}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(t.Context()))
		inspect(t, dir, path+"?"+query, w.Result())
	})
}
