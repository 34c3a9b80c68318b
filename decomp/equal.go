package decomp

import (
	"iter"
	"slices"
)

// Equal reports whether the maps have the same dimensions and ranks, and each rank has the same requests in the same order.
func (m *Map) Equal(o *Map) bool {
	if !slices.Equal(m.dims, o.dims) || len(m.ranks) != len(o.ranks) {
		return false
	}
	for r := range m.ranks {
		if m.ranks[r].nreqs != o.ranks[r].nreqs || !sameReqs(m.Reqs(r), o.Reqs(r)) {
			return false
		}
	}
	return true
}

// sameReqs compares lists of the same length.
func sameReqs(a, b iter.Seq[Req]) bool {
	next, stop := iter.Pull(b)
	defer stop()
	for x := range a {
		if y, _ := next(); x != y {
			return false
		}
	}
	return true
}
