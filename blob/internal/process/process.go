package process

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/internal/base/codec"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// SkewRoom is the extra size of a buffer: a page, so that every skew fits.
const SkewRoom = 4096

// Process has the resources that the ranks of one process share while they write one dataset: open files, workers' buffers, and
// the count of copied bytes. The number of buffers is the number of workers, for any number of subfiles.
type Process struct {
	Pool    *subfile.Pool
	Tenure  atomic.Pointer[lease.Tenure] // set before the first file is created
	buffers chan []byte                  // one buffer per worker; each is nil until its first use
	size    int
	Zstd    *codec.Zstd

	Mu      sync.Mutex
	room    sync.Cond // with mu: signals the end of a background flush
	Used    int64     // bytes of copies
	Flights int       // number of background flushes; each releases its copies at its end
	Max     int64
	advice  string // how to free memory, for error texts
	copies  map[uint64]*Copy
}

// NewProcess returns the shared resources for these options.
func NewProcess(o *dataset.Settings) *Process {
	p := &Process{buffers: make(chan []byte, o.Workers), size: o.Buffer, Max: o.Memory,
		Zstd: codec.NewZstd(codec.Options{Window: codecWindow(o.Chunk), Concurrency: o.Workers, MaxContent: int(o.Chunk)})}
	p.Pool = subfile.NewPool(Held{o.Fs, p}, o.MaxOpen)
	p.room.L = &p.Mu
	switch {
	case o.Keeps():
		p.advice = "set Options.Records, or lend data until Close"
	case o.Retain == dataset.CopyOnPut:
		p.advice = "call Flush earlier, or lend data until Flush"
	default:
		p.advice = "raise Options.Memory"
	}
	for range o.Workers {
		p.buffers <- nil
	}
	return p
}

// codecWindow returns the window size that a codec needs for a chunk of this length.
func codecWindow(chunk int64) int {
	w := 1 << 10
	for int64(w) < chunk {
		w *= 2
	}
	return w
}

// Buffer waits for a worker's buffer and returns it. Its length is n or Options.Buffer, whichever is less, and SkewRoom. A
// buffer is not larger than needed, because touching new pages costs as much as writing them.
func (p *Process) Buffer(n int64) []byte {
	b := <-p.buffers
	if n = min(n, int64(p.size)) + SkewRoom; int64(len(b)) < n {
		b = make([]byte, n)
	}
	return b
}

// GiveBack returns a buffer.
func (p *Process) GiveBack(b []byte) { p.buffers <- b }

// Reserve counts n bytes of copies, or fails if they exceed the limit.
func (p *Process) Reserve(n int64) error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.take(n)
}

// take is Reserve for callers that hold mu.
func (p *Process) take(n int64) error {
	if p.Used+n > p.Max {
		return fmt.Errorf("%d bytes of copies and %d more exceed Options.Memory %d; %s: %w", p.Used, n, p.Max, p.advice, dataset.ErrTooLarge)
	}
	p.Used += n
	return nil
}

// Await is Reserve for a rank that puts. It first waits for background flushes that free memory.
func (p *Process) Await(n int64) error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.awaitLocked(n)
}

// awaitLocked is Await for callers that hold mu.
func (p *Process) awaitLocked(n int64) error {
	for p.Used+n > p.Max && p.Flights > 0 {
		p.room.Wait()
	}
	return p.take(n)
}

// Leave notes the start of a background flush, which releases its copies at the end.
func (p *Process) Leave() {
	p.Mu.Lock()
	p.Flights++
	p.Mu.Unlock()
}

// Left notes the end of a background flush, and releases n bytes.
func (p *Process) Left(n int64) {
	p.Mu.Lock()
	p.Flights--
	p.Used -= n
	p.Mu.Unlock()
	p.room.Broadcast()
}

// Retake reserves bytes again that were released, even beyond the limit.
func (p *Process) Retake(n int64) { p.Release(-n) }

// Release gives back n reserved bytes.
func (p *Process) Release(n int64) {
	p.Mu.Lock()
	p.Used -= n
	p.Mu.Unlock()
}

// Copy is a copy that the ranks of a process share if they put the same bytes.
type Copy struct {
	Raw []byte
	sum uint64
	n   int // number of ranks that use the copy
}

// CopyOf returns a copy of raw. The copy counts once for all ranks that put the same bytes.
func (p *Process) CopyOf(raw []byte) (*Copy, error) {
	sum := dataset.HashOf(raw)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if c := p.copies[sum]; c != nil && bytes.Equal(c.Raw, raw) {
		c.n++
		return c, nil
	}
	if err := p.awaitLocked(int64(len(raw))); err != nil {
		return nil, err
	}
	c := &Copy{append(make([]byte, 0, len(raw)), raw...), sum, 1}
	if p.copies == nil {
		p.copies = map[uint64]*Copy{}
	}
	if p.copies[sum] == nil {
		p.copies[sum] = c
	}
	return c, nil
}

// DropCopy ends one rank's use of a copy.
func (p *Process) DropCopy(c *Copy) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if c.n--; c.n > 0 {
		return
	}
	p.Used -= int64(len(c.Raw))
	if p.copies[c.sum] == c {
		delete(p.copies, c.sum)
	}
}

// Held is the file system in which a writer opens its subfiles. A subfile may be closed while many others are open, and is
// later opened again by name. A name with this writer's tag is safe, because no other writer uses it. Under a final name, the
// file of a new writer may have appeared. Therefore OpenRW checks the lease after the open: if the lease is unchanged, the open
// file is this writer's.
type Held struct {
	vfs.FS
	Proc *Process
}

// OpenRW opens a subfile that the writer still holds.
func (h Held) OpenRW(name string) (vfs.File, error) {
	t := h.Proc.Tenure.Load()
	if _, tag, _ := subfile.Final(name); t == nil || tag != "" {
		return h.FS.OpenRW(name)
	}
	if err := t.Join(); err != nil {
		return nil, err
	}
	f, err := h.FS.OpenRW(name)
	if err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
