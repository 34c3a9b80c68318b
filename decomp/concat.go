package decomp

import "slices"

// Sub returns the map of n ranks from first on, as ranks 0 to n-1. It shares
// storage with m. Ranks that m does not have are left out.
func (m *Map) Sub(first, n int) *Map {
	first = min(max(first, 0), len(m.ranks))
	n = min(max(n, 0), len(m.ranks)-first)
	s := &Map{dims: m.dims, elems: m.elems, ranks: m.ranks[first : first+n : first+n], store: m.store}
	s.sum() //nolint:errcheck // a part of a sum that fits, fits
	return s
}

// concat returns the map of the ranks of all maps, one after the other. All
// must have the same dimensions (else ErrMapMismatch).
func concat(maps ...*Map) (*Map, error) {
	if len(maps) == 0 {
		return nil, pkg.Usage("Concat of no maps")
	}
	m := &Map{dims: maps[0].dims, elems: maps[0].elems, store: maps[0].store}
	share := true
	for i, o := range maps {
		if !slices.Equal(o.dims, m.dims) {
			return nil, pkg.Class(ErrMapMismatch, "map %d has dimensions %v, map 0 has %v", i, o.dims, m.dims)
		}
		share = share && o.store == m.store
	}
	if !share {
		m.store = new(store)
	}
	for _, o := range maps {
		for _, k := range o.ranks {
			if !share {
				first := len(m.store.blocks)
				for _, b := range o.blocks(&k) {
					rel, end := o.store.pattern(&b)
					b.pat = len(m.store.rel)
					m.store.rel = append(m.store.rel, rel...)
					m.store.end = append(m.store.end, end...)
					m.store.blocks = append(m.store.blocks, b)
				}
				k.first = first
			}
			m.ranks = append(m.ranks, k)
		}
	}
	return m, m.sum()
}
