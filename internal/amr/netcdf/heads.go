package netcdf

import (
	"bytes"
	"context"
	"slices"

	"blobio/amr/cello"
	"blobio/internal/amr"
	"blobio/internal/base/fault"
)

// Part selects blocks and fields of a checkpoint. The zero value selects the whole checkpoint.
type Part struct {
	Keep   func(x amr.Index, leaf bool) bool // nil: all blocks
	Fields []string                          // nil: all
	Bare   bool                              // without ghosts
	Grids  bool                              // add variables on the grid of each level, after all other variables
}

// source provides the blocks of a part of a checkpoint, in order.
type source struct {
	k    *cello.Checkpoint
	meta *amr.Meta // has only the fields of the part
	of   []int     // index of each field in the checkpoint
	rows []int     // number of each block of the part in the checkpoint
	bare bool
}

func newSource(k *cello.Checkpoint, p *Part) (*source, error) {
	if p == nil {
		p = &Part{}
	}
	m := *k.Meta()
	s := &source{k: k, meta: &m, bare: p.Bare}
	m.Fields = nil
	for i, f := range k.Meta().Fields {
		if p.Fields == nil || slices.Contains(p.Fields, f.Name) {
			m.Fields, s.of = append(m.Fields, f), append(s.of, i)
		}
	}
	for _, name := range p.Fields {
		if !slices.ContainsFunc(m.Fields, func(f amr.FieldSpec) bool { return f.Name == name }) {
			return nil, fault.Usage("no field %q", name)
		}
	}
	for i, b := range k.Blocks() {
		if p.Keep == nil || p.Keep(b.Index, b.Leaf) {
			s.rows = append(s.rows, i)
		}
	}
	if len(s.rows) == 0 {
		return nil, fault.Usage("selection is empty: none of the %d blocks is selected", len(k.Blocks()))
	}
	return s, nil
}

// ghosts reports whether a field has ghost zones in the netCDF form.
func (s *source) ghosts(f int) bool { return s.k.Ghosts(s.of[f]) && !s.bare }

// fields returns the fields of each block, without Data.
func (s *source) fields() []amr.Field {
	out := make([]amr.Field, len(s.meta.Fields))
	for f := range out {
		out[f] = amr.Field{Spec: &s.meta.Fields[f], Ghosts: s.ghosts(f)}
	}
	return out
}

// field reads the Data of a field of block i.
func (s *source) field(ctx context.Context, i, f int) ([]byte, error) {
	d, err := s.k.Field(ctx, s.rows[i], s.meta.Fields[f].Name, nil)
	if err != nil {
		return nil, err
	}
	return s.cut(f, d), nil
}

// particles reads the Data of an attribute of particles of block i.
func (s *source) particles(ctx context.Context, i int, p *amr.ParticleSpec, attr int) ([]byte, error) {
	return s.k.Particles(ctx, s.rows[i], p.Name, p.Attrs[attr].Name, nil)
}

// cut removes the ghosts of a field.
func (s *source) cut(f int, data []byte) []byte {
	if s.ghosts(f) || !s.k.Ghosts(s.of[f]) {
		return data
	}
	spec := &s.meta.Fields[f]
	out := make([]byte, s.meta.FieldBytes(spec, false))
	s.meta.Strip(out, data, spec)
	return out
}

// heads reads all blocks without their data. It keeps the data of the tables, and the data that determine the
// number of rows in lists.
func (s *source) heads(ctx context.Context) ([]placed, *summary, error) {
	sum := &summary{Attrs: map[string]*attrsOf{}}
	out := make([]placed, len(s.rows))
	for i, row := range s.rows {
		b, err := s.k.Head(ctx, row)
		if err == nil {
			err = sum.add(s.meta, b)
		}
		if err != nil {
			return nil, nil, err
		}
		h := &amr.Block{Index: b.Index, Leaf: b.Leaf, Cycle: b.Cycle, Time: b.Time, Dt: b.Dt, Cost: b.Cost, Adapt: standIn(b.Adapt), Attrs: b.Attrs}
		for i := range b.Particles {
			h.Particles = append(h.Particles, amr.Particles{Spec: b.Particles[i].Spec, N: b.Particles[i].N})
		}
		out[i].Block = h
	}
	return out, sum, nil
}

// adaptMost is the length of adapt_buffers.
const adaptMost = 4000

var onesAndZeros = append(bytes.Repeat([]byte{1}, adaptMost), make([]byte, adaptMost)...)

// standIn returns a slice that needs no memory of its own, with the same length and the same number of trailing
// zeros as an adapt_buffer.
func standIn(adapt []byte) []byte {
	n := len(trimmed(adapt))
	if adapt == nil || n > adaptMost || len(adapt)-n > adaptMost {
		return adapt
	}
	return onesAndZeros[adaptMost-n : adaptMost-n+len(adapt) : adaptMost-n+len(adapt)]
}
