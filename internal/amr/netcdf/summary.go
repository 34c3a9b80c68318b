package netcdf

import (
	"blobio/cdf5"
	"blobio/internal/amr"
	"blobio/internal/base/fault"
)

// summary is the common description of all blocks.
type summary struct {
	Blocks int64
	Attrs  map[string]*attrsOf // further attributes
	Adapt  bool                // some block has an adapt_buffer
}

// attrsOf describes one further attribute in all blocks that have it.
type attrsOf struct {
	Type   cdf5.Type
	Kind   kind
	Len    int64 // number of elements; -1 if it varies
	Blocks int64 // number of blocks with the attribute
}

// fixed reports whether the attribute has the same nonzero number of elements in each of n blocks.
func (a *attrsOf) fixed(n int64) bool { return a.Blocks == n && a.Len > 0 && a.Type != cdf5.Char }

func (a *attrsOf) add(b *attrsOf, name string) error {
	if a.Type != b.Type {
		return fault.Usage("attribute %q differs between blocks: %v and %v", name, a.Type, b.Type)
	}
	if a.Len != b.Len {
		a.Len = -1
	}
	a.Blocks += b.Blocks
	return nil
}

// add adds the description of a block.
func (s *summary) add(m *amr.Meta, b *amr.Block) error {
	for k, v := range b.Attrs {
		x, t, kind, ok := toSlice(v)
		if !ok {
			return fault.Usage("block %s: attribute %q is %T, want numbers or texts", b.Index.Name(m.Rank, m.Roots), k, v)
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
