package lockfs

import (
	"sync"
	"time"
)

// Key identifies a file among all that are or were.
type Key struct{ Ino, Gen uint64 }

// Server is all servers, and what their clients have done. Its methods may be called concurrently.
type Server struct {
	mu      sync.Mutex
	cfg     Config
	files   map[Key]*File
	order   []*File // as they were created
	clients []ClientCounts
	waits   []time.Duration // of clients
	storage []ServerCounts
	meta    ServerCounts
	free    map[*ServerCounts]time.Time // when its queue is empty, for Costs.Sleep
}

// New makes servers without files.
func New(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Costs.BytesPerCall == 0 {
		cfg.Costs.BytesPerCall = DefaultCosts.BytesPerCall
	}
	s := &Server{cfg: cfg, files: map[Key]*File{}, clients: make([]ClientCounts, cfg.Clients), waits: make([]time.Duration, cfg.Clients),
		storage: make([]ServerCounts, cfg.Servers), free: map[*ServerCounts]time.Time{}}
	for i := range s.clients {
		s.clients[i].Metadata = map[string]int64{}
	}
	return s, nil
}

// File returns the file of a key. One that is seen for the first time has the size; what
// wrote it before is not known.
func (s *Server) File(key Key, name string, size int64) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[key]
	if f == nil {
		f = &File{name: name, layout: s.cfg.layout(name), size: size}
		f.objects = make([]object, f.layout.Count)
		for i := range f.objects {
			f.objects[i] = object{server: (len(s.order)*f.layout.Count + i) % s.cfg.Servers, dirty: map[int]spans{}}
		}
		s.files[key] = f
		s.order = append(s.order, f)
	}
	return f
}

// Renamed gives a file another name in reports.
func (s *Server) Renamed(key Key, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[key]; f != nil {
		f.name = name
	}
}

// Name of a file, as it is now.
func (s *Server) Name(f *File) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.name
}

// wait is what a call waits for where Costs.Sleep is set.
type wait struct {
	until time.Time
	more  time.Duration
}

func (w wait) sleep() {
	if !w.until.IsZero() || w.more > 0 {
		time.Sleep(time.Until(w.until) + w.more)
	}
}

// work is a call that keeps a server busy, at the end of its queue.
func (s *Server) work(w *wait, at *ServerCounts, busy time.Duration) {
	at.Calls++
	at.busy += busy
	if !s.cfg.Costs.Sleep {
		return
	}
	now := time.Now()
	if s.free[at].Before(now) {
		s.free[at] = now
	}
	s.free[at] = s.free[at].Add(busy)
	if s.free[at].After(w.until) {
		w.until = s.free[at]
	}
}

// trip is a round trip that a client waits for.
func (s *Server) trip(w *wait, client int) {
	s.waits[client] += s.cfg.Costs.RoundTrip
	if s.cfg.Costs.Sleep {
		w.more += s.cfg.Costs.RoundTrip
	}
}

// Meta counts a metadata call of a thread, on what has a name.
func (s *Server) Meta(client int, thread uint32, kind, name string) {
	if s.cfg.Trace != nil {
		s.cfg.Trace(client, thread, kind, name)
	}
	var w wait
	s.mu.Lock()
	s.clients[client].Metadata[kind]++
	s.work(&w, &s.meta, s.cfg.Costs.MetaCall)
	s.trip(&w, client)
	s.mu.Unlock()
	w.sleep()
}

// send takes written bytes to their storage server.
func (s *Server) send(w *wait, o *object, list spans) {
	for _, x := range list {
		for n := x[1] - x[0]; n > 0; n -= s.cfg.Costs.BytesPerCall {
			s.transfer(w, o, min(n, s.cfg.Costs.BytesPerCall))
		}
	}
}

// transfer is one call with data.
func (s *Server) transfer(w *wait, o *object, n int64) {
	at, busy := &s.storage[o.server], s.cfg.Costs.DataCall
	at.Bytes += n
	if s.cfg.Costs.BytesPerSec > 0 {
		busy += time.Duration(float64(n) / s.cfg.Costs.BytesPerSec * float64(time.Second))
	}
	s.work(w, at, busy)
}

// lock gets a lock for a client, and counts what that takes.
func (s *Server) lock(w *wait, client int, f *File, p part, write bool) {
	o := &f.objects[p.object]
	revoked, asked := o.take(client, p.from, p.to, write)
	if !asked {
		return
	}
	f.counts.Locks++
	s.clients[client].Locks++
	s.trip(w, client)
	for _, l := range revoked {
		f.counts.LockMoves++
		s.clients[client].LockMoves++
		s.trip(w, client)
		s.work(w, &s.storage[o.server], s.cfg.Costs.Revocation)
		rest, out := o.dirty[l.client].cut(l.from, l.to)
		o.dirty[l.client] = rest
		s.send(w, o, out)
	}
}

// Write counts bytes that a client writes. They stay with it until they are synced, or their lock moves, or the report.
func (s *Server) Write(client int, f *File, off, n int64) {
	if n <= 0 {
		return
	}
	var w wait
	s.mu.Lock()
	for _, p := range f.parts(off, n) {
		s.lock(&w, client, f, p, true)
		o := &f.objects[p.object]
		o.dirty[client] = o.dirty[client].add(p.from, p.to)
	}
	f.counts.Bytes += n
	s.clients[client].Bytes += n
	for range f.wrote(client, off, n) {
		f.counts.ReadModifyWrites++
		s.clients[client].ReadModifyWrites++
		s.trip(&w, client)
		s.transfer(&w, &f.objects[f.parts(off, 1)[0].object], pageSize)
	}
	s.mu.Unlock()
	w.sleep()
}

// Wrote counts a whole write call, which came in one or several calls of Write.
func (s *Server) Wrote(client int, f *File, off, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range []*Writes{&f.counts.Writes, &s.clients[client].Writes} {
		c.Writes++
		if n < f.layout.Size {
			c.Small++
		}
		if end := off + n; off%f.layout.Size != 0 || end%f.layout.Size != 0 && end < f.size {
			c.Unaligned++
		}
	}
}

// Read counts bytes that a client reads.
func (s *Server) Read(client int, f *File, off, n int64) {
	n = min(n, f.size-off)
	if n <= 0 {
		return
	}
	var w wait
	s.mu.Lock()
	for _, p := range f.parts(off, n) {
		s.lock(&w, client, f, p, false)
		for at := p.from; at < p.to; at += s.cfg.Costs.BytesPerCall {
			s.transfer(&w, &f.objects[p.object], min(p.to-at, s.cfg.Costs.BytesPerCall))
		}
	}
	f.counts.Reads++
	s.clients[client].Reads++
	s.trip(&w, client)
	s.mu.Unlock()
	w.sleep()
}

// Truncate notes a new size.
func (s *Server) Truncate(f *File, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.truncate(size)
}

// Sync sends what a client has written of a file.
func (s *Server) Sync(client int, f *File) {
	var w wait
	s.mu.Lock()
	for i := range f.objects {
		o := &f.objects[i]
		if list := o.dirty[client]; len(list) > 0 {
			delete(o.dirty, client)
			s.send(&w, o, list)
			s.trip(&w, client)
		}
	}
	s.mu.Unlock()
	w.sleep()
}
