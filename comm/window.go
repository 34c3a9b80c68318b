package comm

import (
	"blobio/internal/base/fault"
	"context"
	"fmt"
	"sync"
)

// shared is the memory of a window: the parts of all ranks, each with a lock that makes accesses atomic.
type shared struct {
	parts []part
}

type part struct {
	mu sync.Mutex
	b  []byte
}

// window is a rank's view of the memory.
type window struct {
	m     *member
	s     *shared
	freed bool
}

func (m *member) NewWindow(ctx context.Context, local []byte) (Window, error) {
	r, err := m.enter(ctx, signature{kind: kNewWindow}, func(r *round) {
		if r.win == nil {
			r.win = &shared{parts: make([]part, m.g.n)}
		}
		r.win.parts[m.rank].b = local
	}, nothing)
	if err != nil {
		return nil, err
	}
	return &window{m: m, s: r.win}, nil
}

func (w *window) Len(rank int) int64 {
	if rank < 0 || rank >= len(w.s.parts) {
		return 0
	}
	return int64(len(w.s.parts[rank].b))
}

// access runs f on bytes [off, off+n) of a rank's part and holds the lock of the part.
func (w *window) access(ctx context.Context, rank int, off, n int64, f func(b []byte)) error {
	if err := w.m.g.w.broken(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // no other rank waits for a one-sided call, so the communication does not break
	}
	if w.freed {
		return fault.Usage("the window was freed")
	}
	if rank < 0 || rank >= len(w.s.parts) {
		return fmt.Errorf("%w: window of rank %d, want 0 ... %d", ErrRange, rank, len(w.s.parts)-1)
	}
	p := &w.s.parts[rank]
	if size := int64(len(p.b)); off < 0 || n < 0 || n > size || off > size-n {
		return fmt.Errorf("%w: %d bytes at offset %d exceed the window of rank %d, which has %d bytes", ErrRange, n, off, rank, size)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.b[off : off+n])
	return nil
}

func (w *window) Put(ctx context.Context, rank int, off int64, b []byte) error {
	return w.access(ctx, rank, off, int64(len(b)), func(p []byte) { copy(p, b) })
}

func (w *window) Get(ctx context.Context, rank int, off int64, b []byte) error {
	return w.access(ctx, rank, off, int64(len(b)), func(p []byte) { copy(b, p) })
}

func (w *window) Fence(ctx context.Context) error {
	if w.freed {
		return w.m.usage("Fence of a freed window")
	}
	_, err := w.m.enter(ctx, signature{kind: kFence, win: w.s}, nothing, nothing)
	return err
}

func (w *window) Free(ctx context.Context) error {
	if w.freed {
		return w.m.usage("Free of a freed window")
	}
	_, err := w.m.enter(ctx, signature{kind: kFree, win: w.s}, nothing, nothing)
	w.freed = true
	return err
}
