package grids

import (
	"context"
	"slices"

	"blobio/amr"
	"blobio/amr/blocks"
	"blobio/amr/plotfile"
	"blobio/internal/amr/boxes"
	"blobio/internal/elem"
)

// WritePlotfile writes the blocks of a source, from level 0 on, as a plotfile: a grid for each block. A field on faces has in a cell the mean of both. What a
// plotfile has no place for is left out: ghost cells, costs, attributes of blocks, blocks above the root blocks. Particles are those of leaves.
func WritePlotfile(ctx context.Context, src blocks.Source, index []amr.Index, leaf []bool, dir string, o *plotfile.WriteOptions) error {
	m, err := OfBlocks(src, index, leaf)
	if err != nil {
		return err
	}
	for l := range m.Levels { // a coarse cell below each fine one
		for i := range m.Levels[l].Boxes {
			b := m.Levels[l].Boxes[i].Box
			below := int64(0)
			if l > 0 {
				down, _ := b.Coarsen(m.Levels[l-1].Ratio)
				m.Levels[l-1].index.Each(down, func(_ int, part boxes.Box) bool { below += part.Cells(); return true })
				if below != down.Cells() {
					return pkg.Usage("block %s has no parent: a plotfile has all levels, not the leaf blocks alone", m.BoxName(l, i))
				}
			}
		}
	}
	g := &src.Meta().Geometry
	roots := m.Levels[0].Cells
	if n := int64(roots[0]) * int64(roots[1]) * int64(roots[2]); cellsOf(m.Levels[0].Boxes) != n {
		return pkg.Usage("the root blocks have %d of %d cells: a plotfile has all of level 0", cellsOf(m.Levels[0].Boxes), n)
	}
	w := &toPlotfile{src: src, m: m, leaf: leaf, typ: amr.Float32}
	for _, f := range src.Meta().Fields {
		if f.Type != amr.Float32 || f.Centered != [3]bool{} {
			w.typ = amr.Float64
		}
	}
	d := &plotfile.Description{Type: w.typ, Header: plotfile.Header{Rank: m.Rank, Time: m.Time, Lower: m.Lower, Upper: m.Upper, Coord: int(m.Coord)}}
	for _, f := range m.Fields {
		d.Fields = append(d.Fields, f.Name)
	}
	low := lowCell(src.Meta())
	for l := range m.Levels {
		x := plotfile.Level{Ratio: m.Levels[l].Ratio, Width: m.Levels[l].Width, Step: int64(src.Meta().Cycle)}
		if v, ok := src.Meta().Attrs[plotfile.AttrSteps].([]int32); ok && len(v) == len(m.Levels) {
			x.Step = int64(v[l])
		}
		shift := low
		for a := range g.Rank {
			shift[a] = low[a] << l
		}
		x.Domain = moved(plotfile.Box{Hi: m.Levels[l].Cells}, shift)
		for _, b := range m.Levels[l].Boxes {
			x.Grids = append(x.Grids, plotfile.Grid{Box: moved(b.Box, shift)})
		}
		d.Levels = append(d.Levels, x)
	}
	for i := range src.Meta().Particles {
		k, err := kindOf(&src.Meta().Particles[i], g.Rank)
		if err != nil {
			return err
		}
		w.kinds = append(w.kinds, *k)
		d.Kinds = append(d.Kinds, k.NewKind)
	}
	return plotfile.Write(ctx, dir, d, w, o)
}

func cellsOf(list []Box) (n int64) {
	for i := range list {
		n += list[i].Cells()
	}
	return n
}

func moved(b plotfile.Box, by [3]int) plotfile.Box {
	for a := range 3 {
		b.Lo[a] += by[a]
		b.Hi[a] += by[a]
	}
	return b
}

// lowCell is the first cell of the domain that a plotfile had which the blocks come from.
func lowCell(m *amr.Meta) (low [3]int) {
	if v, ok := m.Attrs[plotfile.AttrLower].([]int32); ok && len(v) == 3 {
		for a := range m.Rank {
			low[a] = int(v[a])
		}
	}
	return low
}

// kindColumns says where the attributes of particles go.
type kindColumns struct {
	plotfile.NewKind
	place, reals, ints []int // columns
	id, cpu            int   // -1: there is none
}

// kindOf deals the attributes: x, y and z are the place, id and cpu AMReX's own, floats real numbers, the rest integers, of 64 bits two each.
func kindOf(p *amr.ParticleSpec, rank int) (*kindColumns, error) {
	k := &kindColumns{NewKind: plotfile.NewKind{Name: p.Name, Type: amr.Float32}, id: -1, cpu: -1}
	for a := range rank {
		c := slices.IndexFunc(p.Attrs, func(s amr.AttrSpec) bool { return s.Name == "xyz"[a:a+1] && s.Type.Float() })
		if c < 0 {
			return nil, pkg.Usage("particles %s have no attribute %s: a plotfile has the place of each", p.Name, "xyz"[a:a+1])
		}
		k.place = append(k.place, c)
	}
	for c, a := range p.Attrs {
		switch {
		case slices.Contains(k.place, c):
		case a.Name == "id" && a.Type == amr.Int32:
			k.id = c
			continue
		case a.Name == "cpu" && a.Type == amr.Int32:
			k.cpu = c
			continue
		case a.Type == amr.Int64:
			k.ints, k.Ints = append(k.ints, c, c), append(k.Ints, a.Name+plotfile.LowHalf, a.Name+plotfile.HighHalf)
			continue
		case a.Type.Float():
			k.reals, k.Reals = append(k.reals, c), append(k.Reals, a.Name)
		default:
			k.ints, k.Ints = append(k.ints, c), append(k.Ints, a.Name)
			continue
		}
		if a.Type != amr.Float32 {
			k.Type = amr.Float64
		}
	}
	return k, nil
}

type toPlotfile struct {
	src   blocks.Source
	m     *Mesh
	leaf  []bool
	typ   amr.Type
	kinds []kindColumns
}

func (w *toPlotfile) row(level, grid int) int { return w.m.Levels[level].Boxes[grid].Row }

// Fields implements plotfile.Values.
func (w *toPlotfile) Fields(ctx context.Context, level, grid int) (out [][]byte, err error) {
	all := make([]int, len(w.m.Fields))
	for i := range all {
		all[i] = i
	}
	err = w.m.src.read(ctx, w.m, []ref{{level, grid}}, all, func(_ int, values [][]float64) error {
		for _, v := range values {
			out = append(out, bytesOf(w.typ, v))
		}
		return nil
	})
	return out, err
}

// Particles implements plotfile.Values.
func (w *toPlotfile) Particles(ctx context.Context, level, grid, kind int) (reals [][]float64, ints [][]int32, err error) {
	k := &w.kinds[kind]
	reals, ints = make([][]float64, len(k.place)+len(k.reals)), make([][]int32, 2+len(k.ints))
	row := w.row(level, grid)
	if !w.leaf[row] {
		return reals, ints, nil
	}
	list, err := w.src.Range(ctx, row, row+1)
	if err != nil {
		return nil, nil, err
	}
	for i := range list[0].Particles {
		p := &list[0].Particles[i]
		if p.Spec.Name != k.Name || p.N == 0 {
			continue
		}
		column := func(c int) []float64 { return floats(p.Spec.Attrs[c].Type, p.Data[c]) }
		for j, c := range slices.Concat(k.place, k.reals) {
			reals[j] = column(c)
		}
		for j, c := range slices.Concat([]int{k.id, k.cpu}, k.ints) {
			ints[j] = make([]int32, p.N)
			if c < 0 {
				for n := range ints[j] {
					if j == 0 {
						ints[j][n] = int32(n + 1) // of its grid: nothing says more
					}
				}
				continue
			}
			if p.Spec.Attrs[c].Type == amr.Int64 {
				half := 0 // the low one comes first
				if j > 2 && k.ints[j-3] == c {
					half = 32
				}
				for n, v := range elem.View[int64](p.Data[c]) {
					ints[j][n] = int32(v >> half)
				}
				continue
			}
			for n, v := range column(c) {
				ints[j][n] = int32(v)
			}
		}
	}
	return reals, ints, nil
}

func bytesOf(t amr.Type, v []float64) []byte {
	if t == amr.Float64 {
		return elem.Bytes(v)
	}
	small := make([]float32, len(v))
	for i, x := range v {
		small[i] = float32(x)
	}
	return elem.Bytes(small)
}
