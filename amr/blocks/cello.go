package blocks

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"blobio/amr"
	"blobio/amr/cello"
	"blobio/comm"
)

// FromCello returns the blocks of an open checkpoint, in its order. The attributes that
// follow from index and geometry are not kept: ToCello makes them again.
func FromCello(k *cello.Checkpoint) Source { return &celloSource{k} }

type celloSource struct{ k *cello.Checkpoint }

func (s *celloSource) Meta() *amr.Meta { return s.k.Meta() }
func (s *celloSource) Len() int        { return len(s.k.Blocks()) }

func (s *celloSource) Heads(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	m := s.k.Meta()
	return s.each(lo, hi, func(i int) (*amr.Block, error) {
		b, err := s.k.Head(ctx, i)
		if err == nil && b.Fields == nil {
			for f := range m.Fields {
				b.Fields = append(b.Fields, amr.Field{Spec: &m.Fields[f], Ghosts: s.k.Ghosts(f)})
			}
		}
		return b, err
	})
}

func (s *celloSource) Range(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return s.each(lo, hi, func(i int) (*amr.Block, error) { return s.k.Block(ctx, i) })
}

func (s *celloSource) field(ctx context.Context, i int, f *amr.FieldSpec) ([]byte, error) {
	return s.k.Field(ctx, i, f.Name, nil)
}

func (s *celloSource) particles(ctx context.Context, i int, p *amr.ParticleSpec, attr int) ([]byte, error) {
	return s.k.Particles(ctx, i, p.Name, p.Attrs[attr].Name, nil)
}

func (s *celloSource) each(lo, hi int, get func(i int) (*amr.Block, error)) ([]*amr.Block, error) {
	if lo < 0 || hi > s.Len() || lo >= hi {
		return nil, pkg.Usage("blocks %d to %d of %d", lo, hi, s.Len())
	}
	out := make([]*amr.Block, 0, hi-lo)
	for i := lo; i < hi; i++ {
		b, err := get(i)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// Given is an ordering that is given as a list, such as that of the blocks of a
// source.
type Given []amr.Index

// Name implements amr.Ordering.
func (Given) Name() string { return "order_given" }

// Order implements amr.Ordering.
func (g Given) Order(*amr.Tree) []amr.Index { return append([]amr.Index(nil), g...) }

// orderOf returns the order of the blocks of a source.
func orderOf(ctx context.Context, src Source) (Given, error) {
	var out Given
	const chunk = 4096
	for lo := 0; lo < src.Len(); lo += chunk {
		list, err := src.Heads(ctx, lo, min(lo+chunk, src.Len()))
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			out = append(out, b.Index)
		}
	}
	return out, nil
}

// CelloOptions of ToCello. The zero value, or nil, means the defaults.
type CelloOptions struct {
	// Cello are the options of the checkpoint. If its Ordering is nil, that of the
	// source stays.
	Cello cello.Options
	// Workers is how many goroutines read the source. Default the number of CPUs, at most 16.
	Workers int
	// Progress is called with the blocks that are done, by several goroutines.
	Progress func(done, total int64)
}

// ToCello writes the blocks of a source as a Cello checkpoint, in bounded memory.
func ToCello(ctx context.Context, src Source, dir string, o *CelloOptions) error {
	var f CelloOptions
	if o != nil {
		f = *o
	}
	if src.Len() == 0 {
		return pkg.Usage("no blocks")
	}
	if f.Workers < 0 {
		return pkg.Usage("%d workers", f.Workers)
	}
	if f.Workers == 0 {
		f.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	if f.Cello.Ordering == nil {
		order, err := orderOf(ctx, src)
		if err != nil {
			return err
		}
		f.Cello.Ordering = order
	}
	if f.Cello.Files == 0 {
		f.Cello.Files = max(src.Meta().Files, 1) // as many as the blocks were in
	}
	workers := min(f.Workers, src.Len())
	var done atomic.Int64
	err := comm.Run(ctx, workers, nil, func(ctx context.Context, c comm.Comm) error {
		lo, hi := src.Len()*c.Rank()/workers, src.Len()*(c.Rank()+1)/workers
		s := &shareSource{lo: lo, n: hi - lo, w: window{src: src, end: hi}}
		s.progress = func() {
			if f.Progress != nil {
				f.Progress(done.Add(1), int64(src.Len()))
			}
		}
		own := f.Cello
		return cello.WriteFrom(ctx, c, dir, src.Meta(), s, &own)
	})
	return plain(err)
}

// shareSource is the part of a source that one worker reads.
type shareSource struct {
	lo, n    int
	progress func()
	mu       sync.Mutex
	w        window
	heads    []*amr.Block // from first on
	first    int
}

func (s *shareSource) Len() int { return s.n }

func (s *shareSource) Head(ctx context.Context, i int) (*amr.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := i - s.first; s.heads == nil || k < 0 || k >= len(s.heads) {
		list, err := s.w.src.Heads(ctx, s.lo+i, s.lo+min(i+1024, s.n))
		if err != nil {
			return nil, err
		}
		s.heads, s.first = list, i
	}
	return s.heads[i-s.first], nil
}

func (s *shareSource) Block(ctx context.Context, i int) (*amr.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads = nil
	s.progress()
	return s.w.get(ctx, s.lo+i)
}
