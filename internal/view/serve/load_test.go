package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func many(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// TestManyClients checks that 200 concurrent clients all get their answers, with few concurrent reads and little memory.
func TestManyClients(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	want := converted(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Memory: minMemory, Work: 2, Wait: time.Hour, Stall: time.Hour})
	values := x.get(t, http.StatusOK, "/dap/x.nc.dods?T")
	many(200, func(i int) {
		path, want := "/files/x.nc", want
		if i%2 == 1 {
			path, want = "/dap/x.nc.dods?T", values
		}
		resp, err := x.Client().Get(x.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %s, %d bytes (%v), want %d", path, resp.Status, len(b), err, len(want))
		}
	})
}

// nowhere is a ResponseWriter that discards the answer.
type nowhere struct {
	head http.Header
	n    int64
}

func (w *nowhere) Header() http.Header { return w.head }
func (w *nowhere) WriteHeader(int)     {}
func (w *nowhere) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

// TestMemory checks that an answer of 16 MiB allocates a small part of the minimum budget, and that any number of large requests
// succeeds.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 2<<20)
	large(t, filepath.Join(dir, "y.nc"), 1<<20)
	const clients = 24
	x := start(t, dir, &Options{Memory: minMemory, Queue: clients, Wait: time.Hour, Stall: time.Hour})
	for path, least := range map[string]int64{"/dap/x.nc.dods?x": 16 << 20, "/zarr/x.nc/x/0": 2 << 20, "/zarr3/x.nc/x/c.0": 2 << 20, "/files/x.nc": 16 << 20} {
		var before, after runtime.MemStats
		w := &nowhere{head: http.Header{}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		runtime.ReadMemStats(&before)
		x.s.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; w.n < least || n > minMemory/3 { // total allocation in between
			t.Errorf("%s: %d bytes, for which %d are allocated", path, w.n, n)
		}
	}
	many(clients, func(i int) {
		resp, err := x.Client().Get(x.URL + []string{"/dap/y.nc.dods?x", "/zarr/y.nc/x/0", "/zarr3/y.nc/x/c.0"}[i%3])
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 8<<20 && i%3 == 0 || n < 1<<20 {
			t.Errorf("%s: %d bytes (%v)", resp.Status, n, err)
		}
	})
}

// TestBusy checks that a request gets 503 with Retry-After if the queue is full or the wait too long.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Wait: time.Millisecond})
	give, err := x.s.memory.take(t.Context(), 1<<40) // the whole budget
	ok(t, err)
	for _, path := range []string{"/files/x.nc", "/dap/x.nc.dds", "/"} {
		resp := x.ask(t, http.MethodGet, path)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	give()
	x.get(t, http.StatusOK, "/files/x.nc")
}

// TestBudget checks that requests are served in order, that a cancelled request leaves the queue, and that the budget does not
// lose units.
func TestBudget(t *testing.T) { synctest.Test(t, testBudget) }

func testBudget(t *testing.T) {
	b := newBudget(10, 2, time.Minute)
	first, err := b.take(t.Context(), 8)
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone, got := make(chan error), make(chan func())
	go func() { _, err := b.take(ctx, 9); gone <- err }()
	synctest.Wait() // until the request waits
	go func() {
		give, err := b.take(t.Context(), 2)
		if err != nil {
			t.Error(err)
		}
		got <- give
	}()
	synctest.Wait()
	if _, err := b.take(t.Context(), 1); !errors.Is(err, errBusy) {
		t.Errorf("a third one waits: %v", err)
	}
	select {
	case <-got:
		t.Error("the second one overtakes the first")
	default:
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	(<-got)()
	first()
	if b.free != 10 || len(b.queue) != 0 {
		t.Errorf("%d of 10 are free, %d wait", b.free, len(b.queue))
	}
}

// piped is a listener of in-memory connections, for testing/synctest bubbles, where timeouts take no real time.
type piped struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPiped() *piped { return &piped{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *piped) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

func (p *piped) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *piped) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
}

// serving runs a server in memory. end stops it and waits.
func serving(t *testing.T, dir string, o *Options) (s *Server, l *piped, end func()) {
	t.Helper()
	s, l = newServer(t, dir, o), newPiped()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	return s, l, func() {
		cancel()
		ok(t, <-ended)
	}
}

// TestSlowClients checks that clients that read nothing are cut off, and that they hold no slots for reads.
func TestSlowClients(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 8<<20)
	write(t, filepath.Join(dir, "y.nc"))
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		s, l, end := serving(t, dir, &Options{Work: 1, Wait: time.Minute, Log: log})
		const n = 10
		for i := range n {
			c, err := l.dial(t.Context(), "", "")
			ok(t, err)
			defer c.Close()
			_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"/files/x.nc", "/dap/x.nc.dods?x"}[i%2])
			ok(t, err)
		}
		synctest.Wait() // until the clients stall
		if s.work.free != 1 {
			t.Error("they hold the slot")
		}
		resp, err := l.client().Get("http://localhost/files/y.nc") // may wait for memory that the clients hold
		ok(t, err)
		if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d bytes, %v", resp.Status, len(b), err)
		}
		ok(t, resp.Body.Close())
		time.Sleep(2 * s.opt.Stall)
		synctest.Wait()
		if got := strings.Count(log.String(), " 200* "); got != n {
			t.Errorf("%d of %d are cut off:\n%s", got, n, log)
		}
		if all := s.memory; all.free != all.all || s.work.free != 1 {
			t.Errorf("%d of %d bytes are free", all.free, all.all)
		}
		end()
	})
}

// watched is a client that inspects the server while it receives an answer.
type watched struct {
	*httptest.ResponseRecorder
	see func(piece int)
}

func (w watched) Write(p []byte) (int, error) {
	w.see(len(p))
	return w.ResponseRecorder.Write(p)
}

// TestSentWithoutSlot checks that a picture, a value or a page holds no read slot while it is sent, and only the memory of its
// bytes.
func TestSentWithoutSlot(t *testing.T) {
	dir := t.TempDir()
	writePlaces(t, filepath.Join(dir, "x.nc"))
	s := newServer(t, dir, &Options{Work: 3})
	for _, path := range []string{"/plot/x.nc?var=T&width=300", "/plot/x.nc?var=T&format=svg&width=300", "/value/x.nc?var=T&px=100&py=100", "/view/x.nc?var=T"} {
		seen, page := 0, strings.HasPrefix(path, "/view") // as JSON, /view draws a picture, too
		for _, accept := range []string{"text/html", "application/json"} {
			w := watched{httptest.NewRecorder(), func(n int) {
				seen++
				if s.work.free != 3 {
					t.Errorf("%s holds %d slots while it is sent", path, 3-s.work.free)
				}
				if held := s.memory.all - s.memory.free; held < int64(n) || held > 4<<20 {
					t.Errorf("%s holds %d bytes while %d are sent", path, held, n)
				}
			}}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
			r.Header.Set("Accept", accept)
			s.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			if !page {
				break
			}
		}
		if seen == 0 || s.memory.free != s.memory.all {
			t.Errorf("%s: %d pieces, %d of %d bytes are free", path, seen, s.memory.free, s.memory.all)
		}
	}
}

// TestEnd checks that at server shutdown answers complete or break off, and that nobody waits for ever.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 8<<20)
	synctest.Test(t, func(t *testing.T) {
		_, l, end := serving(t, dir, nil)
		resp, err := l.client().Get("http://localhost/files/x.nc")
		ok(t, err)
		defer resp.Body.Close()
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		end()
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Error("an answer that was cut off looks whole")
		}
		if _, err := l.dial(t.Context(), "", ""); err == nil {
			t.Error("somebody still listens")
		}
	})
}
