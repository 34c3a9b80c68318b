package blocks

import (
	"context"
	"slices"

	"blobio/amr"
)

// A Source gives the blocks of a tree in their order, as often as it is asked. Its
// methods are safe for concurrent use. A Dataset is one.
type Source interface {
	Meta() *amr.Meta
	Len() int
	// Heads returns blocks lo, lo+1, ... below hi without the Data of fields and particles.
	Heads(ctx context.Context, lo, hi int) ([]*amr.Block, error)
	// Range returns them whole.
	Range(ctx context.Context, lo, hi int) ([]*amr.Block, error)
}

// parts is a Source that can read less than a whole block.
type parts interface {
	// field returns the Data of a field of block i.
	field(ctx context.Context, i int, f *amr.FieldSpec) ([]byte, error)
	// particles returns the Data of an attribute of particles of block i.
	particles(ctx context.Context, i int, p *amr.ParticleSpec, attr int) ([]byte, error)
}

// Memory is a Source of blocks that are in memory.
type Memory struct {
	M    *amr.Meta
	List []*amr.Block
}

// Meta implements Source.
func (s *Memory) Meta() *amr.Meta { return s.M }

// Len implements Source.
func (s *Memory) Len() int { return len(s.List) }

// Heads implements Source.
func (s *Memory) Heads(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return s.Range(ctx, lo, hi)
}

// Range implements Source.
func (s *Memory) Range(_ context.Context, lo, hi int) ([]*amr.Block, error) {
	return s.List[lo:hi], nil
}

// Selection is a part of the blocks and fields of a source.
type Selection struct {
	Keep   func(x amr.Index, leaf bool) bool // nil: all blocks
	Fields []string                          // nil: all
	Bare   bool                              // without ghosts
}

// Select returns a Source of a part of src. The order of the blocks stays.
func Select(ctx context.Context, src Source, s Selection) (Source, error) {
	m := *src.Meta()
	if s.Fields != nil {
		m.Fields = nil
		for _, f := range src.Meta().Fields {
			if slices.Contains(s.Fields, f.Name) {
				m.Fields = append(m.Fields, f)
			}
		}
		for _, name := range s.Fields {
			if !slices.ContainsFunc(m.Fields, func(f amr.FieldSpec) bool { return f.Name == name }) {
				return nil, pkg.Usage("no field %q", name)
			}
		}
	}
	p := &selected{src: src, meta: &m, bare: s.Bare}
	const chunk = 1024
	for lo := 0; lo < src.Len(); lo += chunk {
		hi := min(lo+chunk, src.Len())
		if s.Keep == nil {
			for i := lo; i < hi; i++ {
				p.rows = append(p.rows, i)
			}
			continue
		}
		list, err := src.Heads(ctx, lo, hi)
		if err != nil {
			return nil, err
		}
		for i, b := range list {
			if s.Keep(b.Index, b.Leaf) {
				p.rows = append(p.rows, lo+i)
			}
		}
	}
	if len(p.rows) == 0 {
		return nil, pkg.Usage("no blocks are left of %d", src.Len())
	}
	return p, nil
}

type selected struct {
	src  Source
	meta *amr.Meta
	rows []int
	bare bool
}

func (p *selected) Meta() *amr.Meta { return p.meta }
func (p *selected) Len() int        { return len(p.rows) }

func (p *selected) Heads(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return p.get(ctx, lo, hi, p.src.Heads)
}

func (p *selected) Range(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return p.get(ctx, lo, hi, p.src.Range)
}

// get reads runs of rows that are together in the source.
func (p *selected) get(ctx context.Context, lo, hi int, read func(ctx context.Context, lo, hi int) ([]*amr.Block, error)) ([]*amr.Block, error) {
	if lo < 0 || hi > len(p.rows) || lo >= hi {
		return nil, pkg.Usage("blocks %d to %d of %d", lo, hi, len(p.rows))
	}
	var out []*amr.Block
	for i := lo; i < hi; {
		j := i + 1
		for j < hi && p.rows[j] == p.rows[j-1]+1 {
			j++
		}
		list, err := read(ctx, p.rows[i], p.rows[j-1]+1)
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			out = append(out, p.cut(b))
		}
		i = j
	}
	return out, nil
}

// cut leaves out fields and ghosts.
func (p *selected) cut(b *amr.Block) *amr.Block {
	c := *b
	c.Fields = nil
	for i := range b.Fields {
		f := b.Fields[i]
		k := slices.IndexFunc(p.meta.Fields, func(x amr.FieldSpec) bool { return x.Name == f.Spec.Name })
		if k < 0 {
			continue
		}
		if p.bare && f.Ghosts {
			f.Data, f.Ghosts = active(&p.meta.Geometry, &f), false
		}
		f.Spec = &p.meta.Fields[k]
		c.Fields = append(c.Fields, f)
	}
	return &c
}

// active returns the elements without ghosts.
func active(g *amr.Geometry, f *amr.Field) []byte {
	if f.Data == nil {
		return nil
	}
	from, to := g.Shape(f.Spec, true), g.Shape(f.Spec, false)
	size := f.Spec.Type.Size()
	out := make([]byte, 0, to[0]*to[1]*to[2]*size)
	for z := range to[2] {
		for y := range to[1] {
			at := ((z+g.Ghost[2])*from[1]+y+g.Ghost[1])*from[0] + g.Ghost[0]
			out = append(out, f.Data[at*size:(at+to[0])*size]...)
		}
	}
	return out
}
