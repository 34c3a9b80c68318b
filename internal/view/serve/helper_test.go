package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/diary"
	"blobio/internal/base/testfiles"
)

var ok = testfiles.Must

const (
	ranks   = 4
	lev     = 3
	width   = 40
	records = 2
)

func value(rec, lev, col int) float64 { return 1e6 + float64(10000*rec+100*lev+col) }

// write makes a dataset of two subfiles: T(time, lev, ncol), and lev(lev).
func write(t testing.TB, name string) {
	t.Helper()
	o := &blob.Options{Subfiles: 2, Durability: blob.DurableNone}
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, z, col := s.Dim("time", blob.Unlimited), s.Dim("lev", lev), s.Dim("ncol", width)
		d := s.Decomp(z, col)
		levels := s.Var("lev", cdf5.Double, []blob.DimID{z})
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, z, col}, blob.Decomposed(d), blob.Att("units", "K"))
		const n = width / ranks
		var runs []decomp.Req
		for k := range lev {
			runs = append(runs, decomp.Req{Offset: int64(k*width + c.Rank()*n), Length: n})
		}
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: runs}}, o)
		if err != nil {
			return err
		}
		err = blob.Put(w, levels, 0, []float64{1000, 500, 100})
		for rec := range records {
			var data []float64
			for k := range lev {
				for i := range n {
					data = append(data, value(rec, k, c.Rank()*n+i))
				}
			}
			err = errors.Join(err, blob.Put(w, v, int64(rec), data), w.Flush(ctx))
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}))
}

// large makes an ordinary netCDF file with one variable of n zero doubles, as a sparse file.
func large(t testing.TB, name string, n int64) { zeros(t, name, n, cdf5.Double) }

// zeros makes the same file as large, with another type of 8 bytes.
func zeros(t testing.TB, name string, n int64, typ cdf5.Type) {
	t.Helper()
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "n", Len: n}}, Vars: []cdf5.Var{{Name: "x", Type: typ, Dims: []int{0}}}}
	ok(t, h.Layout(nil))
	b, err := h.AppendTo(nil, binary.BigEndian, false)
	ok(t, err)
	ok(t, os.WriteFile(name, b, 0o666))
	ok(t, os.Truncate(name, h.FileSize(0)))
}

func converted(t testing.TB, name string) []byte {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	ok(t, err)
	defer r.Close()
	out := filepath.Join(t.TempDir(), "out.nc")
	ok(t, blob.Convert(t.Context(), r, out, &blob.ConvertOptions{Durability: blob.DurableNone}))
	b, err := os.ReadFile(out)
	ok(t, err)
	return b
}

// lines is a log that tests can read.
type lines struct {
	of *diary.Diary // nil: accepts lines at once
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	if l.of != nil {
		l.of.Flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// site is a server for a directory, with a client.
type site struct {
	*httptest.Server
	s   *Server
	log *lines
}

func newServer(t testing.TB, dir string, o *Options) *Server {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if o.Memory == 0 {
		o.Memory = 2 * minMemory
	}
	s, err := New(dir, o)
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func start(t testing.TB, dir string, o *Options) *site {
	t.Helper()
	log := &lines{}
	if o == nil {
		o = &Options{}
	}
	o.Log = log
	s := newServer(t, dir, o)
	log.of = s.log.diary
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return &site{h, s, log}
}

// ask sends a request with headers, each "name: value".
func (x *site) ask(t testing.TB, method, path string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, x.URL+path, nil)
	ok(t, err)
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	c := &http.Client{Transport: x.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	ok(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// get sends a request, checks the status and returns the body.
func (x *site) get(t testing.TB, status int, path string, headers ...string) []byte {
	t.Helper()
	resp := x.ask(t, http.MethodGet, path, headers...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if resp.StatusCode != status {
		t.Fatalf("%s: %s, want %d\n%.300s", path, resp.Status, status, b)
	}
	return b
}
