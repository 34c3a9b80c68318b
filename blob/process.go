package blob

import (
	"fmt"
	"sync"
	"sync/atomic"

	"blobio/internal/base/codec"
	"blobio/subfile"
)

// process is what the ranks of one process share while they write one
// dataset: open files, workers' buffers, and the count of copied bytes.
// However many subfiles the process writes, it has no more buffers than workers.
type process struct {
	pool    *subfile.Pool
	tenure  atomic.Pointer[tenure] // set before the first file is made
	buffers chan []byte            // tokens; nil until first used
	size    int
	zstd    *codec.Zstd

	mu      sync.Mutex
	room    sync.Cond // over mu: a flush in the background has ended
	used    int64     // bytes kept in copies
	flights int       // flushes in the background: each releases what it holds when it ends
	max     int64
	advice  string // what makes room for more
	copies  map[uint64]*common
}

func newProcess(o *settings) *process {
	p := &process{buffers: make(chan []byte, o.Workers), size: o.Buffer, max: o.Memory,
		zstd: codec.NewZstd(codec.Options{Window: codecWindow(o.chunk), Concurrency: o.Workers, MaxContent: int(o.chunk)})}
	p.pool = subfile.NewPool(held{o.fs, p}, o.MaxOpen)
	p.room.L = &p.mu
	switch {
	case o.keeps():
		p.advice = "fix Options.Records, or lend until Close"
	case o.Retain == CopyOnPut:
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
func (p *process) buffer(n int64) []byte {
	b := <-p.buffers
	if n = min(n, int64(p.size)) + skewRoom; int64(len(b)) < n {
		b = make([]byte, n)
	}
	return b
}

func (p *process) giveBack(b []byte) { p.buffers <- b }

// reserve counts n bytes of copies against the cap.
func (p *process) reserve(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(n)
}

// take is reserve with mu held.
func (p *process) take(n int64) error {
	if p.used+n > p.max {
		return fmt.Errorf("%d bytes kept in copies and %d more, Options.Memory is %d (%s): %w", p.used, n, p.max, p.advice, ErrTooLarge)
	}
	p.used += n
	return nil
}

// await is reserve for a rank that puts: it waits for a flush in the background that makes room.
func (p *process) await(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.awaitLocked(n)
}

// awaitLocked is await with mu held.
func (p *process) awaitLocked(n int64) error {
	for p.used+n > p.max && p.flights > 0 {
		p.room.Wait()
	}
	return p.take(n)
}

// leave notes that a flush in the background has begun, which will release what it holds.
func (p *process) leave() {
	p.mu.Lock()
	p.flights++
	p.mu.Unlock()
}

// left notes its end, and releases n bytes.
func (p *process) left(n int64) {
	p.mu.Lock()
	p.flights--
	p.used -= n
	p.mu.Unlock()
	p.room.Broadcast()
}

// retake takes back what was released, whatever is in use.
func (p *process) retake(n int64) { p.release(-n) }

func (p *process) release(n int64) {
	p.mu.Lock()
	p.used -= n
	p.mu.Unlock()
}
