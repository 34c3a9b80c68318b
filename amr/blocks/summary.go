package blocks

import (
	"context"
	"encoding/json"
	"slices"

	"blobio/amr"
	"blobio/cdf5"
	"blobio/comm"
)

// summary is what the blocks of a rank, or of all, have in common.
type summary struct {
	Blocks int64
	Fields []fieldOf           // the same in all blocks
	Attrs  map[string]*attrsOf // further attributes
	Adapt  bool                // a block has an adapt_buffer
}

type fieldOf struct {
	Spec   amr.FieldSpec
	Ghosts bool
}

// attrsOf is one further attribute in all blocks that have it.
type attrsOf struct {
	Type   cdf5.Type
	Kind   kind
	Len    int64 // -1 if it varies
	Blocks int64 // that have it
}

// fixed tells that every one of n blocks has as many elements of it, at least one.
func (a *attrsOf) fixed(n int64) bool { return a.Blocks == n && a.Len > 0 && a.Type != cdf5.Char }

func (a *attrsOf) add(b *attrsOf, name string) error {
	if a.Type != b.Type || a.Kind != b.Kind {
		return pkg.Usage("attribute %q is %v in one block and %v in another", name, a.Type, b.Type)
	}
	if a.Len != b.Len {
		a.Len = -1
	}
	a.Blocks += b.Blocks
	return nil
}

// summarize looks at the blocks of a rank. Their data may be absent.
func summarize(m *amr.Meta, blocks []*amr.Block) (*summary, error) {
	s := &summary{Attrs: map[string]*attrsOf{}}
	for _, b := range blocks {
		if err := s.add(m, b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *summary) add(m *amr.Meta, b *amr.Block) error {
	name := func() string { return b.Index.Name(m.Rank, m.Roots) }
	if s.Blocks == 0 {
		for i := range b.Fields {
			f := &b.Fields[i]
			if f.Spec == nil {
				return pkg.Usage("block %s: field %d has no specification", name(), i)
			}
			if !slices.Contains(m.Fields, *f.Spec) {
				return pkg.Usage("block %s: field %q is not one of the tree's, or is another there", name(), f.Spec.Name)
			}
			s.Fields = append(s.Fields, fieldOf{*f.Spec, f.Ghosts})
		}
	}
	if len(b.Fields) != len(s.Fields) {
		return pkg.Usage("block %s: %d fields, others have %d", name(), len(b.Fields), len(s.Fields))
	}
	for i := range b.Fields {
		if f := &b.Fields[i]; f.Spec == nil || *f.Spec != s.Fields[i].Spec || f.Ghosts != s.Fields[i].Ghosts {
			return pkg.Usage("block %s: field %d is not as in others (%q, ghosts %v)", name(), i, s.Fields[i].Spec.Name, s.Fields[i].Ghosts)
		}
	}
	for i := range b.Particles {
		if p := &b.Particles[i]; p.Spec == nil || particleSpec(m, p.Spec.Name) < 0 || !slices.Equal(p.Spec.Attrs, m.Particles[particleSpec(m, p.Spec.Name)].Attrs) {
			return pkg.Usage("block %s: particles %d are not of a type of the tree", name(), i)
		}
	}
	for k, v := range b.Attrs {
		x, t, kind, ok := toSlice(v)
		if !ok {
			return pkg.Usage("block %s: attribute %q is %T, want numbers or text", name(), k, v)
		}
		n, _, _ := cdf5.SliceLen(x)
		a := &attrsOf{Type: t, Kind: kind, Len: int64(n), Blocks: 1}
		if s.Attrs[k] == nil {
			s.Attrs[k] = a
		} else if err := s.Attrs[k].add(a, k); err != nil {
			return err
		}
	}
	s.Adapt = s.Adapt || b.Adapt != nil
	s.Blocks++
	return nil
}

// particleSpec finds a type of particles, -1 if there is none.
func particleSpec(m *amr.Meta, name string) int {
	return slices.IndexFunc(m.Particles, func(p amr.ParticleSpec) bool { return p.Name == name })
}

// merge adds what another rank has.
func (s *summary) merge(t *summary) error {
	if t.Blocks == 0 {
		return nil
	}
	if s.Blocks == 0 {
		s.Fields = t.Fields
	} else if !slices.Equal(s.Fields, t.Fields) {
		return pkg.Usage("blocks of different ranks have different fields")
	}
	for k, a := range t.Attrs {
		if s.Attrs[k] == nil {
			s.Attrs[k] = a
		} else if err := s.Attrs[k].add(a, k); err != nil {
			return err
		}
	}
	s.Adapt = s.Adapt || t.Adapt
	s.Blocks += t.Blocks
	return nil
}

// agree makes the summary of all ranks, the same on all. Collective.
func agree(ctx context.Context, c comm.Comm, own *summary, err error) (*summary, error) {
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	b, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	all, err := c.Gather(ctx, 0, b)
	if err != nil {
		return nil, err
	}
	sum := &summary{Attrs: map[string]*attrsOf{}}
	if c.Rank() == 0 {
		b, err = sum.mergeAll(all)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		b = nil
	}
	if b, err = c.Bcast(ctx, 0, b); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		err = json.Unmarshal(b, sum)
	}
	return sum, err
}

func (s *summary) mergeAll(all [][]byte) ([]byte, error) {
	for _, b := range all {
		one := new(summary)
		if err := json.Unmarshal(b, one); err != nil {
			return nil, err
		}
		if err := s.merge(one); err != nil {
			return nil, err
		}
	}
	if s.Blocks == 0 {
		return nil, pkg.Usage("no blocks")
	}
	return json.Marshal(s)
}
