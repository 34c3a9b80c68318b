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
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"
)

// many runs f so often at once.
func many(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// TestManyClients: 200 at once all get what they ask for, with few reads at once and little memory.
func TestManyClients(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	want := converted(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Memory: minMemory, Work: 2})
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

// TestMemory: what answers take stays within the budget, however many want much.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 1<<20)
	const clients = 64
	x := start(t, dir, &Options{Memory: minMemory, Queue: clients, Wait: time.Minute})
	inUse := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	most, stop, stopped := uint64(0), make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			metrics.Read(inUse)
			most = max(most, inUse[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	many(clients, func(i int) {
		resp, err := x.Client().Get(x.URL + []string{"/dap/x.nc.dods?x", "/zarr/x.nc/x/0", "/zarr3/x.nc/x/c.0"}[i%3])
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 8<<20 && i%3 == 0 || n < 1<<20 {
			t.Errorf("%s: %d bytes (%v)", resp.Status, n, err)
		}
	})
	close(stop)
	<-stopped
	t.Logf("%d clients of 8 MiB each: heap of at most %d KiB", clients, most>>10)
	if limit := uint64(96 << 20); most > limit { // the budget, the readers' 16 MiB, connections, and garbage of as much again
		t.Errorf("%d bytes in use, want at most %d", most, limit)
	}
}

// TestBusy: who finds the queue full, or waits too long, is told so, and when to come again.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, &Options{Wait: time.Millisecond})
	give, err := x.s.memory.take(t.Context(), 1<<40) // all there is
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

// TestBudget: first come, first served; who goes away leaves its place to those behind; nothing gets lost.
func TestBudget(t *testing.T) {
	b := newBudget(10, 2, time.Minute)
	first, err := b.take(t.Context(), 8)
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(n int) {
		for {
			b.mu.Lock()
			k := len(b.queue)
			b.mu.Unlock()
			if k == n {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	gone, got := make(chan error), make(chan func())
	go func() { _, err := b.take(ctx, 9); gone <- err }()
	waits(1)
	go func() {
		give, err := b.take(t.Context(), 2)
		if err != nil {
			t.Error(err)
		}
		got <- give
	}()
	waits(2)
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

// slow connects, asks, and never reads.
func slow(t *testing.T, x *site, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", x.Listener.Addr().String())
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	ok(t, c.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	ok(t, err)
	return c
}

// TestSlowClients: those who take nothing are cut off, and meanwhile hold no slot of those who read.
func TestSlowClients(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 8<<20)
	write(t, filepath.Join(dir, "y.nc"))
	x := start(t, dir, &Options{Work: 1, Stall: 300 * time.Millisecond})
	const n = 10
	for i := range n {
		slow(t, x, []string{"/files/x.nc", "/dap/x.nc.dods?x"}[i%2])
	}
	x.get(t, http.StatusOK, "/files/y.nc")
	for end := time.Now().Add(30 * time.Second); strings.Count(x.log.String(), " 200* ") < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("they are not cut off:\n%s", x.log)
		}
	}
	if all := x.s.memory; all.free != all.all || x.s.work.free != 1 {
		t.Errorf("%d of %d bytes are free", all.free, all.all)
	}
}

// watched is a client that looks at the server while it takes an answer.
type watched struct {
	*httptest.ResponseRecorder
	see func(piece int)
}

func (w watched) Write(p []byte) (int, error) {
	w.see(len(p))
	return w.ResponseRecorder.Write(p)
}

// TestSentWithoutSlot: while a picture, a value or a page goes out, it holds no slot of those who read, and no more memory than its bytes.
func TestSentWithoutSlot(t *testing.T) {
	dir := t.TempDir()
	writePlaces(t, filepath.Join(dir, "x.nc"))
	s := newServer(t, dir, &Options{Work: 3})
	for _, path := range []string{"/plot/x.nc?var=T", "/plot/x.nc?var=T&format=svg", "/value/x.nc?var=T&px=100&py=100", "/view/x.nc?var=T"} {
		seen, page := 0, strings.HasPrefix(path, "/view") // which as JSON is a picture, too
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

// TestEnd: when the server ends, what is under way comes to its end or breaks off; nobody waits for ever.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	large(t, filepath.Join(dir, "x.nc"), 8<<20)
	s := newServer(t, dir, &Options{Grace: 200 * time.Millisecond})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/files/x.nc")
	ok(t, err)
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		ok(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("an answer that was cut off looks whole")
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("somebody still listens")
	}
}
