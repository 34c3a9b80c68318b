package lockfs

import (
	"strings"
	"testing"
	"time"
)

const unit = 64 << 10

func newTestServer(t *testing.T, c Config) *Server {
	t.Helper()
	c.Clients, c.Servers = 3, 2
	if c.Layout == (Layout{}) {
		c.Layout = Layout{Size: unit, Count: 2}
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write is a call of a program.
func (s *Server) write(client int, f *File, off, n int64) {
	s.Write(client, f, off, n)
	s.Wrote(client, f, off, n)
}

// TestCounts of two nodes that write units in turn, and then into one.
func TestCounts(t *testing.T) {
	s := newTestServer(t, Config{Costs: Costs{RoundTrip: time.Second, DataCall: time.Millisecond, BytesPerSec: unit, BytesPerCall: 4 * unit}})
	f := s.File(Key{1, 1}, "f", 0)
	for u := range int64(8) { // unit u is in object u%2, of node u%2
		s.write(int(u%2), f, u*unit, unit)
	}
	r := s.Report()
	// Each node has an object for itself, asks for its lock once, and sends 4 units together: 4 s and 1 ms for each server.
	if r.SharedUnits != 0 || r.Total.Locks != 2 || r.Total.LockMoves != 0 || r.Total.Small != 0 || r.Total.Unaligned != 0 || r.Total.Bytes != 8*unit {
		t.Errorf("units in turn: %+v", r.Total)
	}
	for i, c := range r.Storage {
		if c.Calls != 1 || c.Bytes != 4*unit || c.BusySeconds != 4.001 || r.Clients[i].WaitSeconds != 1 {
			t.Errorf("server %d: %+v, client %+v", i, c, r.Clients[i])
		}
	}
	// Node 1 writes a part of unit 0: the lock moves, and it must read the pages at both ends.
	s.write(1, f, 100, 3*pageSize)
	s.write(1, f, 200, pageSize) // these it has
	r = s.Report()
	if d := r.Files[0]; r.SharedUnits != 1 || d.FirstShared[0] != 0 || d.Units != 8 || d.LockMoves != 1 || d.ReadModifyWrites != 2 || d.Small != 2 || d.Unaligned != 2 {
		t.Errorf("into another's unit: %+v", d)
	}
	// Beyond the end there is nothing to read, and the last write may be short.
	s.write(2, f, 8*unit, 10)
	if d := s.Report().Files[0]; d.ReadModifyWrites != 2 || d.Unaligned != 2 || d.Small != 3 || d.Size != 8*unit+10 {
		t.Errorf("at the end: %+v", d)
	}
	s.Renamed(Key{1, 1}, "g")
	s.Meta(0, 0, "rename", "f")
	s.Meta(2, 0, "stat", "f")
	r = s.Report()
	if r.MetaCalls != 2 || r.Metadata["rename"] != 1 || r.Clients[2].Metadata["stat"] != 1 || r.Files[0].Name != "g" {
		t.Errorf("metadata: %+v", r)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "metadata: rename 1, stat 1\n") || !strings.Contains(b.String(), "2 x 65536") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// TestReads: many nodes read under locks that do not exclude each other; a writer takes them all.
func TestReads(t *testing.T) {
	s := newTestServer(t, Config{Layout: Layout{Size: unit, Count: 1}})
	f := s.File(Key{1, 1}, "f", 10*unit)
	for client := range 3 {
		s.Read(client, f, unit, unit)
		s.Read(client, f, 20*unit, unit) // beyond the end
	}
	if d := s.Report().Total; d.Reads != 3 || d.LockMoves != 0 {
		t.Errorf("reads: %+v", d)
	}
	s.write(0, f, unit, unit)
	if d := s.Report().Total; d.LockMoves != 2 {
		t.Errorf("a write after reads: %+v", d)
	}
}

// TestSync: what was written is sent once, where it was written.
func TestSync(t *testing.T) {
	s := newTestServer(t, Config{Costs: Costs{BytesPerCall: unit}})
	f := s.File(Key{1, 1}, "f", 0)
	s.write(0, f, 0, 2*unit) // a unit in each object
	s.Sync(0, f)
	s.Sync(0, f)
	s.Truncate(f, 0)
	for i, c := range s.Report().Storage {
		if c.Calls != 1 || c.Bytes != unit {
			t.Errorf("server %d: %+v", i, c)
		}
	}
}

// TestSleep: calls queue at a server, one after the other.
func TestSleep(t *testing.T) {
	s := newTestServer(t, Config{Costs: Costs{MetaCall: 3 * time.Millisecond, RoundTrip: time.Millisecond, Sleep: true}})
	start := time.Now()
	done := make(chan bool)
	for range 5 {
		go func() { s.Meta(0, 0, "open", "f"); done <- true }()
	}
	for range 5 {
		<-done
	}
	if d := time.Since(start); d < 15*time.Millisecond {
		t.Errorf("5 calls of 3 ms took %v", d)
	}
}

func TestLayouts(t *testing.T) {
	special := Layout{Size: 2 * unit, Count: 1}
	s := newTestServer(t, Config{Dirs: map[string]Layout{"a/b": special}})
	for name, want := range map[string]Layout{"f": {unit, 2}, "a/f": {unit, 2}, "a/b/f": special, "a/b/c/f": special} {
		if got := s.File(Key{1, uint64(len(name))}, name, 0).layout; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, c := range []Config{
		{Clients: 0, Servers: 1, Layout: Layout{unit, 1}},
		{Clients: 65, Servers: 1, Layout: Layout{unit, 1}},
		{Clients: 1, Servers: 1, Layout: Layout{unit, 2}},
		{Clients: 1, Servers: 1, Layout: Layout{100, 1}},
		{Clients: 1, Servers: 1, Layout: Layout{unit, 1}, Dirs: map[string]Layout{"d": {unit, 0}}},
		{Clients: 1, Servers: 1, Layout: Layout{unit, 1}, Costs: Costs{BytesPerCall: -1}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
