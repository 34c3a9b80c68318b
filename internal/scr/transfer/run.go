package transfer

import (
	"context"
	"sync/atomic"

	"blobio/internal/base/par"
)

// run is one round of background copies by a server.
type run struct {
	*par.Task
	items   []Item
	at      map[itemKey]int
	written []atomic.Int64
	results []atomic.Pointer[outcome]
}

// start begins to copy files. A failed file does not stop the others.
func (s *server) start(ctx context.Context, items []Item) *run {
	r := &run{items: items, at: map[itemKey]int{},
		written: make([]atomic.Int64, len(items)), results: make([]atomic.Pointer[outcome], len(items))}
	for n, i := range items {
		r.at[i.key()] = n
	}
	r.Task = par.NewTask(ctx, func(ctx context.Context) error {
		return par.Each(ctx, s.o.Files, len(items), func(_ context.Context, n int) error {
			crc, err := s.copy(ctx, items[n], &r.written[n])
			if err == nil {
				r.results[n].Store(&outcome{crc: crc})
			} else if ctx.Err() == nil {
				r.results[n].Store(&outcome{err: err})
			}
			return nil
		})
	})
	r.Go()
	return r
}

// copy copies one file durably, unless it is already at its destination.
func (s *server) copy(ctx context.Context, i Item, written *atomic.Int64) (crc uint32, err error) {
	j := Job{Src: i.Src, Dst: i.Dst, Size: i.Size, CRC: i.CRC, HasCRC: i.HasCRC, Meta: i.Meta, Out: i.Out}
	if err := j.Validate(); err != nil {
		return 0, err
	}
	if err := s.within(&j); err != nil {
		return 0, err
	}
	b := s.e.newBatch([]Job{j})
	b.climb, b.owner = true, s.owner
	r, err := b.resume(ctx, &j, func(n int64) { written.Add(n) })
	if err == nil {
		err = b.finish()
	}
	return r.CRC, err
}

// within reports whether all files of the run are still in the transfer file.
func (r *run) within(f *File) bool {
	n := 0
	for _, i := range f.Items {
		if _, ok := r.at[i.key()]; ok {
			n++
		}
	}
	return n == len(r.items)
}

// outcome returns the outcome of a file, or nil if the copy is unfinished.
func (r *run) outcome(n int) *outcome { return r.results[n].Load() }

// progress sets the number of written bytes of an item. It sets the number to the full size only when the copy is
// durable.
func (r *run) progress(i *Item) {
	n, ok := r.at[i.key()]
	if !ok {
		return
	}
	i.Error = ""
	if out := r.outcome(n); out != nil {
		i.settle(*out)
		return
	}
	i.Written = min(r.written[n].Load(), max(i.Size-1, 0))
}
