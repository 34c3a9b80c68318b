package grids

import (
	"context"
	"fmt"

	"blobio/amr/plotfile"
)

// OfPlotfile is the mesh of a plotfile.
func OfPlotfile(p *plotfile.Plotfile) (*Mesh, error) {
	s := &plotSource{p: p}
	m := &Mesh{Rank: p.Rank, Lower: p.Lower, Upper: p.Upper, Time: p.Time, Coord: Coord(p.Coord), src: s}
	typ := "float64"
	if len(p.Levels) > 0 && len(p.Levels[0].Grids) > 0 {
		t, err := p.Type(0, 0)
		if err != nil {
			return nil, err
		}
		typ = t.String()
	}
	for _, name := range p.Fields {
		m.Fields = append(m.Fields, Field{Name: name, Type: typ})
	}
	for i := range p.Kinds {
		k := Kind{Name: p.Kinds[i].Name}
		for _, c := range p.Kinds[i].Columns(p.Rank) {
			k.Columns = append(k.Columns, c.Name)
		}
		for a := range p.Rank {
			k.Positions = append(k.Positions, a)
		}
		m.Kinds = append(m.Kinds, k)
	}
	row := 0
	for l := range p.Levels {
		from := &p.Levels[l]
		x := Level{Cells: from.Domain.Len(), Width: from.Width, Ratio: from.Ratio}
		for a := range p.Rank { // what Header says is rounded
			x.Width[a] = (p.Upper[a] - p.Lower[a]) / float64(x.Cells[a])
		}
		low := from.Domain.Lo
		for i := range from.Grids {
			b := from.Grids[i].Box
			for a := range 3 {
				b.Lo[a] -= low[a]
				b.Hi[a] -= low[a]
			}
			x.Boxes = append(x.Boxes, Box{b, row})
			row++
		}
		m.Levels = append(m.Levels, x)
	}
	return m.finish()
}

type plotSource struct{ p *plotfile.Plotfile }

func (s *plotSource) name(_ *Mesh, r ref) string { return fmt.Sprintf("grid %d", r.box) }

// read implements source.
func (s *plotSource) read(ctx context.Context, _ *Mesh, list []ref, fields []int, each func(k int, values [][]float64) error) error {
	out := make([][]float64, len(fields))
	for k, r := range list {
		for j, f := range fields {
			t, b, err := s.p.Read(ctx, r.level, r.box, f)
			if err != nil {
				return err
			}
			out[j] = floats(t, b)
		}
		if err := each(k, out); err != nil {
			return err
		}
	}
	return nil
}

// particles implements source.
func (s *plotSource) particles(ctx context.Context, m *Mesh, kind int, each func(columns [][]float64) error) error {
	specs := s.p.Kinds[kind].Columns(m.Rank)
	for i := range s.p.Kinds[kind].Parts() {
		b, err := s.p.Particles(ctx, kind, i)
		if err != nil {
			return err
		}
		columns := make([][]float64, len(b))
		for c := range b {
			columns[c] = floats(specs[c].Type, b[c])
		}
		if len(columns[0]) > 0 {
			if err := each(columns); err != nil {
				return err
			}
		}
	}
	return nil
}
