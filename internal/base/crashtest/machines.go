package crashtest

import (
	"sync"

	"blobio/internal/base/vfs"
)

// Machines share a file system whose locks do not reach other machines.
type Machines struct{ under vfs.FS }

// NewMachines returns machines that share under.
func NewMachines(under vfs.FS) *Machines { return &Machines{under} }

// Machine returns the file system as one machine sees it. Without locks, the file system has no locks even between processes
// of this machine.
func (m *Machines) Machine(locks bool) *Machine {
	n := &Machine{under: m.under, locks: locks, held: map[string]map[*file]bool{}, stopped: make(chan struct{}), end: make(chan struct{})}
	close(n.end)
	n.FS = vfs.NewFault(seenBy{m.under, n}, n.hook)
	return n
}

// Machine is a file system that can be stopped.
type Machine struct {
	vfs.FS
	under vfs.FS
	locks bool

	mu      sync.Mutex
	held    map[string]map[*file]bool // open files with a lock, by name; the value is true for an exclusive lock
	at      int64                     // operations from this number on wait; 0: no operation waits
	ops     int64
	waits   bool
	stopped chan struct{} // closed when an operation begins to wait
	end     chan struct{} // closed when operations may continue
	meet    func(op int64)
}

// StopAt makes operation n, counted from now, and all later operations wait until Go is called. The channel is closed when the
// first operation begins to wait.
func (m *Machine) StopAt(n int64) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.ops, m.waits = n, 0, false
	m.stopped, m.end = make(chan struct{}), make(chan struct{})
	return m.stopped
}

// Go ends StopAt.
func (m *Machine) Go() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = 0
	select {
	case <-m.end:
	default:
		close(m.end)
	}
}

// Ops returns the number of operations since StopAt, or the beginning.
func (m *Machine) Ops() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

// Each calls f before each later operation, with the operation's number from now.
func (m *Machine) Each(f func(op int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meet, m.ops = f, 0
}

func (m *Machine) hook(vfs.Op) error {
	m.mu.Lock()
	m.ops++
	meet, n, end := m.meet, m.ops, m.end
	wait := m.at > 0 && m.ops >= m.at
	if wait && !m.waits {
		m.waits = true
		close(m.stopped)
	}
	m.mu.Unlock()
	if meet != nil {
		meet(n)
	}
	if wait {
		<-end
	}
	return nil
}

// seenBy adds a machine's locks to its files.
type seenBy struct {
	vfs.FS
	m *Machine
}

func (s seenBy) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &file{f, s.m, f.Name()}, nil
}

func (s seenBy) Create(name string) (vfs.File, error) { return s.file(s.FS.Create(name)) }
func (s seenBy) OpenRW(name string) (vfs.File, error) { return s.file(s.FS.OpenRW(name)) }
func (s seenBy) Open(name string) (vfs.File, error)   { return s.file(s.FS.Open(name)) }

// Local implements vfs.FS.
func (s seenBy) Local(string) bool { return false }

// Rename moves the locks of a file with it.
func (s seenBy) Rename(oldname, newname string) error {
	err := s.FS.Rename(oldname, newname)
	if err == nil {
		s.m.mu.Lock()
		defer s.m.mu.Unlock()
		if l := s.m.held[oldname]; l != nil {
			s.m.held[newname] = l
			delete(s.m.held, oldname)
		}
		for f := range s.m.held[newname] {
			if f.name == oldname {
				f.name = newname
			}
		}
	}
	return err
}

type file struct {
	vfs.File
	m    *Machine
	name string // name for locks
}

// Lock implements vfs.Locker.
func (f *file) Lock(exclusive bool) error {
	if !f.m.locks {
		return vfs.ErrNoLocks
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	l := f.m.held[f.name]
	for o, ex := range l {
		if o != f && (ex || exclusive) {
			return vfs.ErrLocked
		}
	}
	if l == nil {
		l = map[*file]bool{}
		f.m.held[f.name] = l
	}
	l[f] = exclusive
	return nil
}

// Close implements vfs.File.
func (f *file) Close() error {
	f.m.mu.Lock()
	for _, l := range f.m.held {
		delete(l, f)
	}
	f.m.mu.Unlock()
	return f.File.Close()
}
