//go:build unix

package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// starve prevents the process from opening files until end is called.
func starve(t *testing.T) (end func()) {
	t.Helper()
	var was syscall.Rlimit
	ok(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	none := was
	none.Cur = 0
	ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	return func() { ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }
}

// TestExhausted checks that every request is 503 with Retry-After while the process cannot open files, and that failed lookups
// are not cached.
func TestExhausted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.nc"))
	write(t, filepath.Join(dir, "bare.nc"))
	ok(t, os.Remove(filepath.Join(dir, "bare.nc.manifest")))
	large(t, filepath.Join(dir, "plain.nc"), 8)
	forms(t, dir)
	ok(t, os.Symlink("plain.nc", filepath.Join(dir, "link.nc")))
	for _, path := range []string{"/", "/files/", "/files/store/", "/files/a.nc", "/files/bare.nc", "/files/plain.nc", "/files/link.nc", "/files/Check-10.nc", "/files/store/rho.nc", "/dap/a.nc.dds", "/dap/a.nc.dods?lev", "/dap/bare.nc.das",
		"/zarr/a.nc/.zmetadata", "/zarr/a.nc/lev/0", "/zarr3/a.nc/zarr.json", "/zarr/plain.nc/.zgroup", "/plot/a.nc?var=T&width=240", "/value/a.nc?var=T&px=1&py=1", "/view/a.nc", "/view/bare.nc", "/events/a.nc", "/events/bare.nc"} {
		for _, warm := range []bool{false, true} { // warm: read before, with all files closed again
			s := newServer(t, dir, nil)
			ask := func() *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = "localhost"
				r.Header.Set("Accept", "text/html")
				if strings.HasPrefix(path, "/events/") {
					r.Header.Set("Accept", "application/json")
				}
				s.ServeHTTP(w, r)
				return w
			}
			if warm {
				ask()
			}
			end := starve(t)
			hungry := ask()
			end()
			if b := hungry.Body.String(); !(warm && hungry.Code == http.StatusOK && !strings.Contains(b, "too many open files")) && (hungry.Code != http.StatusServiceUnavailable || hungry.Header().Get("Retry-After") == "") {
				t.Errorf("%s, warm %v: %d, Retry-After %q\n%.200s", path, warm, hungry.Code, hungry.Header().Get("Retry-After"), b)
			}
			if w := ask(); w.Code != http.StatusOK {
				t.Errorf("%s: then %d\n%.200s", path, w.Code, w.Body)
			}
		}
	}
}
