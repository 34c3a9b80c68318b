package write

import (
	"blobio/blob/internal/dataset"
	"blobio/internal/base/codec"
	"blobio/internal/subfile"
	"fmt"
	"sync"
	"sync/atomic"
)

// Process is what the ranks of one process share while they write one
// dataset: open files, workers' buffers, and the count of copied bytes.
// However many subfiles the process writes, it has no more buffers than workers.
type Process struct {
	Pool    *subfile.Pool
	Tenure  atomic.Pointer[Tenure] // set before the first file is made
	buffers chan []byte            // tokens; nil until first used
	size    int
	Zstd    *codec.Zstd

	Mu      sync.Mutex
	room    sync.Cond // over mu: a flush in the background has ended
	Used    int64     // bytes kept in copies
	Flights int       // flushes in the background: each releases what it holds when it ends
	max     int64
	advice  string // what makes room for more
	copies  map[uint64]*common
}

func NewProcess(o *dataset.Settings) *Process {
	p := &Process{buffers: make(chan []byte, o.Workers), size: o.Buffer, max: o.Memory,
		Zstd: codec.NewZstd(codec.Options{Window: codecWindow(o.Chunk), Concurrency: o.Workers, MaxContent: int(o.Chunk)})}
	p.Pool = subfile.NewPool(Held{o.Fs, p}, o.MaxOpen)
	p.room.L = &p.Mu
	switch {
	case o.Keeps():
		p.advice = "fix Options.Records, or lend until Close"
	case o.Retain == dataset.CopyOnPut:
		p.advice = "flush first, or lend until Flush"
	default:
		p.advice = "raise it"
	}
	for range o.Workers {
		p.buffers <- nil
	}
	return p
}

// codecWindow is the window that a chunk needs.
func codecWindow(chunk int64) int {
	w := 1 << 10
	for int64(w) < chunk {
		w *= 2
	}
	return w
}

// buffer waits for a worker's token and returns its buffer: Options.Buffer, or at least n bytes if
// that is less, and room for a skew. Pages that are never used would cost as much as writing them.
func (p *Process) buffer(n int64) []byte {
	b := <-p.buffers
	if n = min(n, int64(p.size)) + skewRoom; int64(len(b)) < n {
		b = make([]byte, n)
	}
	return b
}

func (p *Process) giveBack(b []byte) { p.buffers <- b }

// reserve counts n bytes of copies against the cap.
func (p *Process) reserve(n int64) error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.take(n)
}

// take is reserve with mu held.
func (p *Process) take(n int64) error {
	if p.Used+n > p.max {
		return fmt.Errorf("%d bytes kept in copies and %d more, Options.Memory is %d (%s): %w", p.Used, n, p.max, p.advice, dataset.ErrTooLarge)
	}
	p.Used += n
	return nil
}

// await is reserve for a rank that puts: it waits for a flush in the background that makes room.
func (p *Process) await(n int64) error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.awaitLocked(n)
}

// awaitLocked is await with mu held.
func (p *Process) awaitLocked(n int64) error {
	for p.Used+n > p.max && p.Flights > 0 {
		p.room.Wait()
	}
	return p.take(n)
}

// leave notes that a flush in the background has begun, which will release what it holds.
func (p *Process) leave() {
	p.Mu.Lock()
	p.Flights++
	p.Mu.Unlock()
}

// left notes its end, and releases n bytes.
func (p *Process) left(n int64) {
	p.Mu.Lock()
	p.Flights--
	p.Used -= n
	p.Mu.Unlock()
	p.room.Broadcast()
}

// retake takes back what was released, whatever is in use.
func (p *Process) retake(n int64) { p.release(-n) }

func (p *Process) release(n int64) {
	p.Mu.Lock()
	p.Used -= n
	p.Mu.Unlock()
}
