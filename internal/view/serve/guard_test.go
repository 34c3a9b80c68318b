package serve

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/fault"
)

const token = "0123456789abcdef0123"

func TestToken(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Token: token})
	for _, path := range []string{"/", "/files/x.nc", "/dap/x.nc.dds", "/static/view.css", "/nothing"} {
		for _, h := range []string{"X: y", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Bearer " + token[1:], "Authorization: Bearer " + token + "x",
			"Authorization: " + token, "Authorization: Basic !", "Authorization: Basic Ondyb25n"} {
			resp := x.ask(t, http.MethodGet, path, h)
			if resp.StatusCode != http.StatusUnauthorized || len(resp.Header.Values("WWW-Authenticate")) != 2 {
				t.Errorf("%s with %q: %s %v", path, h, resp.Status, resp.Header)
			}
		}
	}
	x.get(t, http.StatusOK, "/files/x.nc", "Authorization: Bearer "+token)
	x.get(t, http.StatusOK, "/files/x.nc", "Authorization: bearer  "+token, "Host: data.example.org")
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, x.URL+"/dap/x.nc.dds", nil)
	r.SetBasicAuth("any", token)
	resp, err := x.Client().Do(r)
	ok(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("as a password: %s", resp.Status)
	}
	if strings.Contains(x.log.String(), token) {
		t.Error("the token is in the log")
	}
}

// TestHost checks that a page of another host cannot read through a browser under that host's name.
func TestHost(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Hosts: []string{"Data.example.org"}})
	for host, status := range map[string]int{"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:1": 200, "127.9.8.7": 200, "[::1]:80": 200, "[::ffff:127.0.0.1]": 200, "data.example.org:80": 200, "localhost.": 200,
		"evil.example.org": 421, "localhost.evil.org": 421, "127.0.0.1.evil.org": 421, "10.0.0.1": 421, "0.0.0.0": 421, "[::]": 421, "x@localhost": 421} {
		x.get(t, status, "/files/x.nc", "Host: "+host)
	}
	public := start(t, dir, &Options{Public: true})
	public.get(t, 200, "/files/x.nc", "Host: any.example.org")
}

func TestHeaders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, nil)
	for _, path := range []string{"/", "/files/x.nc", "/dap/x.nc.dods?lev", "/dap/x.nc.dods?nothing", "/nothing", "/static/view.css"} {
		h := x.ask(t, http.MethodGet, path).Header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none';") || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for _, m := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, "TRACE", "X"} {
		if resp := x.ask(t, m, "/files/x.nc"); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
			t.Errorf("%s: %s", m, resp.Status)
		}
	}
	c := start(t, dir, &Options{CORS: "https://example.org"})
	if h := c.ask(t, http.MethodOptions, "/files/x.nc").Header; h.Get("Access-Control-Allow-Origin") != "https://example.org" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Range") {
		t.Errorf("preflight: %v", h)
	}
}

// TestAddress checks that only loopback addresses are allowed without a token or Public.
func TestAddress(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t, dir, nil)
	for ip, good := range map[string]bool{"127.0.0.1": true, "::1": true, "127.4.0.1": true, "0.0.0.0": false, "::": false, "10.1.2.3": false} {
		err := s.CheckAddr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 80})
		if (err == nil) != good || err != nil && !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", ip, err)
		}
		for _, o := range []*Options{{Token: token}, {Public: true}} {
			if err := newServer(t, dir, o).CheckAddr(&net.TCPAddr{IP: net.ParseIP(ip)}); err != nil {
				t.Errorf("%s with %+v: %v", ip, o, err)
			}
		}
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	ok(t, err)
	if err := s.Serve(t.Context(), l); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("served on %v: %v", l.Addr(), err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]*Options{"Memory": {Memory: 1}, "Work": {Work: -1}, "Token": {Token: "short"}, "CORS": {CORS: "example.org"}, "origin": {CORS: "https://example.org/path"}, "Stall": {Stall: -1}} {
		if _, err := New(t.TempDir(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
