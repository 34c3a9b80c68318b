package trace

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Variable names the file that calls are written to.
const Variable = "BLOBIO_TRACE"

// blockRows is how many calls on a file are kept before they are written.
const blockRows = 128

// An Op is a kind of call.
type Op uint8

// The kinds.
const (
	Read Op = iota
	Write
	Open
	Close
	Sync
	Allocate
	Truncate
	Map
	Rename
	Remove
)

var opNames = [...]string{"read", "write", "open", "close", "sync", "alloc", "trunc", "map", "rename", "remove"}

// row is a call. Offset and length are -1 where the call has none.
type row struct {
	op         Op
	segment    int64
	off, n     int64
	start, end time.Duration // since the base of the log
}

// log is a trace.
type log struct {
	mu       sync.Mutex // of all below
	f        *os.File
	buf      []byte // reused
	dead     atomic.Bool
	complain func(error)

	base   time.Time // the whole second that times count from; with the monotonic clock
	rank   int64
	host   string
	mounts []mount
}

// current is the trace of this process; nil: none is wanted.
var current = sync.OnceValue(func() *log {
	pattern := os.Getenv(Variable)
	if pattern == "" {
		return nil
	}
	l, err := newLog(pattern)
	if err != nil {
		complain(err)
		return nil
	}
	return l
})

func complain(err error) {
	fmt.Fprintf(os.Stderr, "blobio: %s: %v; this process is not traced\n", Variable, err)
}

// Moment is when a call began.
type Moment struct{ t time.Time }

// Now is the time, if calls are traced.
func Now() Moment {
	if current() == nil {
		return Moment{}
	}
	return Moment{time.Now()}
}

// Name traces a call on a name that moves no bytes and has no open file. to is the new name of a rename.
func Name(op Op, name, to string, m Moment, err error) {
	if l := current(); l != nil && err == nil {
		l.name(op, name, to, m)
	}
}

// A File is an open file that is traced. All its methods do nothing for nil.
type File struct {
	l    *log
	name string

	mu     sync.Mutex
	counts [len(opNames)]int64
	rows   []row
}

// NewFile returns a File after a call that opened it; nil if calls are not traced.
func NewFile(name string, m Moment) *File {
	l := current()
	if l == nil {
		return nil
	}
	return l.open(name, m)
}

// Now is the time, if the file is traced.
func (f *File) Now() Moment {
	if f == nil {
		return Moment{}
	}
	return Moment{time.Now()}
}

// Moved traces a call that has read or written n bytes at off. One that moved none, as at the end of a file, is left out.
func (f *File) Moved(op Op, off, n int64, m Moment) {
	if f != nil && n > 0 {
		f.add(op, off, n, m)
	}
}

// Did traces a call that moves no bytes; off and n are -1 where it has none. After Sync and Close all is written.
func (f *File) Did(op Op, off, n int64, m Moment, err error) {
	if f == nil {
		return
	}
	if err == nil {
		f.add(op, off, n, m)
	}
	if op == Sync || op == Close {
		f.mu.Lock()
		f.flush()
		f.mu.Unlock()
	}
}

func (f *File) add(op Op, off, n int64, m Moment) {
	if f.l.dead.Load() {
		return
	}
	end := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = make([]row, 0, blockRows)
	}
	f.rows = append(f.rows, row{op, f.counts[op], off, n, m.t.Sub(f.l.base), end.Sub(f.l.base)})
	f.counts[op]++
	if len(f.rows) == blockRows {
		f.flush()
	}
}

// flush writes the rows that are kept.
func (f *File) flush() {
	if len(f.rows) > 0 {
		f.l.block(f.name, "", f.rows)
		f.rows = f.rows[:0]
	}
}
