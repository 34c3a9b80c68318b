package grids

import (
	"context"
	"fmt"
	"math"

	"blobio/internal/amr"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// OfBlocks returns the mesh of a tree's blocks of level 0 and finer. index has the index of each block. leaf is true for leaves;
// only particles of leaves belong to the mesh. block reads the block with a number.
func OfBlocks(meta *amr.Meta, index []amr.Index, leaf []bool, block func(ctx context.Context, i int) (*amr.Block, error)) (*Mesh, error) {
	g := &meta.Geometry
	m := &Mesh{Rank: g.Rank, Time: meta.Time, src: &blockSource{meta, index, leaf, block}}
	m.Upper, m.ratio = [3]float64{1, 1, 1}, [3]int{1, 1, 1}
	copy(m.Lower[:g.Rank], g.Lower[:g.Rank])
	copy(m.Upper[:g.Rank], g.Upper[:g.Rank])
	for i := range meta.Fields {
		f := &meta.Fields[i]
		m.Fields = append(m.Fields, Field{Name: f.Name, Type: f.Type.String()})
	}
	for i := range meta.Particles {
		p := &meta.Particles[i]
		k := Kind{Name: p.Name}
		for _, a := range p.Attrs {
			k.Columns = append(k.Columns, a.Name)
		}
		m.Kinds = append(m.Kinds, k)
	}
	for a := range g.Rank {
		m.ratio[a] = 2
	}
	finest := 0
	for _, x := range index {
		finest = max(finest, x.Level())
	}
	for l := range finest + 1 {
		x := Level{Cells: [3]int{1, 1, 1}, Width: [3]float64{1, 1, 1}, begin: map[[3]int]bool{}}
		w := g.CellWidth(l)
		for a := range g.Rank {
			n := int64(g.Roots[a]) * int64(g.Block[a]) << l
			if int64(int(n)) != n {
				return nil, fault.Class(fault.ErrRange, "%d cells on an axis, want at most %d", n, math.MaxInt)
			}
			x.Cells[a], x.Width[a] = int(n), w[a]
		}
		m.Levels = append(m.Levels, x)
	}
	for i, x := range index {
		l := x.Level()
		if l < 0 {
			continue
		}
		b, c, name := Box{Span: Span{Hi: [3]int{1, 1, 1}}, Row: i}, x.Coord(), x.Name(g.Rank, g.Roots)
		for a := range g.Rank {
			b.Lo[a] = c[a] * g.Block[a]
			b.Hi[a] = b.Lo[a] + g.Block[a]
			if b.Lo[a] < 0 || b.Hi[a] > m.Levels[l].Cells[a] {
				return nil, fault.Class(fault.ErrCorrupt, "level %d: block %s covers cells %v to %v, but the domain has %v", l, name, b.Lo, b.Hi, m.Levels[l].Cells)
			}
			if l > 0 && g.Block[a]%2 != 0 {
				return nil, fault.Class(fault.ErrCorrupt, "level %d: block %s has %d cells on an axis, want an even number, so that no cell of the coarser level is split", l, name, g.Block[a])
			}
		}
		level := &m.Levels[l]
		if level.begin[b.Lo] {
			return nil, fault.Class(fault.ErrCorrupt, "level %d: block %s is repeated", l, name)
		}
		level.begin[b.Lo] = true
		level.Boxes = append(level.Boxes, b)
	}
	return m, nil
}

type blockSource struct {
	meta  *amr.Meta
	index []amr.Index
	leaf  []bool
	block func(ctx context.Context, i int) (*amr.Block, error)
}

func (s *blockSource) name(m *Mesh, r ref) string {
	g := &s.meta.Geometry
	return s.index[m.Levels[r.level].Boxes[r.box].Row].Name(g.Rank, g.Roots)
}

// read calls each for each box in list, with the values of the fields, x fastest. k is the number of the box in list.
func (s *blockSource) read(ctx context.Context, m *Mesh, list []ref, fields []int, each func(k int, values [][]float64) error) error {
	out := make([][]float64, len(fields))
	for k, r := range list {
		i := m.Levels[r.level].Boxes[r.box].Row
		b, err := s.block(ctx, i)
		if err != nil {
			return err
		}
		if b.Index != s.index[i] {
			return fault.Usage("block %d has changed", i)
		}
		for j, f := range fields {
			x := b.Field(m.Fields[f].Name)
			if x == nil {
				return fmt.Errorf("block %s has no field %s: %w", s.name(m, r), m.Fields[f].Name, fault.ErrMissing)
			}
			out[j] = Cells(&s.meta.Geometry, x)
		}
		if err := each(k, out); err != nil {
			return err
		}
	}
	return nil
}

// Floats converts elements of type t, in the byte order of the host, to float64.
func Floats(t amr.Type, b []byte) []float64 {
	et := elem.Parse(t.String())
	out := make([]float64, len(b)/max(et.Size(), 1))
	switch x := et.View(b).(type) {
	case []float32:
		for i, v := range x {
			out[i] = float64(v)
		}
	case []float64:
		copy(out, x)
	default:
		elem.Load(out, b, elem.HostBig, et)
	}
	return out
}

// Cells returns the values of the cells of a block, without ghosts. For a face-centred field, the value of a cell is the mean of
// its faces.
func Cells(g *amr.Geometry, f *amr.Field) []float64 {
	v := Floats(f.Spec.Type, f.Data)
	have, ghost := g.Shape(f.Spec, f.Ghosts), [3]int{}
	if f.Ghosts {
		ghost = g.Ghost
	}
	if have == g.Block {
		return v
	}
	n := g.Block
	out := make([]float64, 0, n[0]*n[1]*n[2])
	var steps []int // offsets of the values whose mean is the value of a cell
	for k := range 8 {
		at, stride, ok := 0, 1, true
		for a := range 3 {
			if k>>a&1 == 1 {
				at += stride
				ok = ok && f.Spec.Centered[a] && a < g.Rank
			}
			stride *= have[a]
		}
		if ok {
			steps = append(steps, at)
		}
	}
	for z := range n[2] {
		for y := range n[1] {
			at := ((z+ghost[2])*have[1]+y+ghost[1])*have[0] + ghost[0]
			if len(steps) == 1 {
				out = append(out, v[at:at+n[0]]...)
				continue
			}
			for x := range n[0] {
				sum := 0.0
				for _, s := range steps {
					sum += v[at+x+s]
				}
				out = append(out, sum/float64(len(steps)))
			}
		}
	}
	return out
}

// particles calls each with the particles of one kind in each block. It reads only leaves, because particles of refined blocks
// are copies or leftovers.
func (s *blockSource) particles(ctx context.Context, m *Mesh, kind int, each func(columns [][]float64) error) error {
	for i := range s.index {
		if !s.leaf[i] {
			continue
		}
		b, err := s.block(ctx, i)
		if err != nil {
			return err
		}
		columns := make([][]float64, len(m.Kinds[kind].Columns))
		for k := range b.Particles {
			p := &b.Particles[k]
			if p.Spec.Name != m.Kinds[kind].Name {
				continue
			}
			for c := range columns {
				columns[c] = append(columns[c], Floats(p.Spec.Attrs[c].Type, p.Data[c])...)
			}
		}
		if len(columns) > 0 && len(columns[0]) > 0 {
			if err := each(columns); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
