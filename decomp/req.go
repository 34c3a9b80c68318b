package decomp

// A Req is a request: a run of elements, in canonical order.
type Req struct {
	Offset int64 // canonical, in elements from 0
	Length int64 // in elements
}

// End returns the offset behind the last element.
func (r Req) End() int64 { return r.Offset + r.Length }

// A Piece is a part of a request: elements [Off, Off+Len) of the canonical
// array are the elements [Pos, Pos+Len) of the rank's blob.
type Piece struct {
	Off, Pos, Len int64
}

// Deal returns which of procs map processes rank takes when they are dealt
// to ranks: n consecutive ones from first. Each rank takes procs/ranks of them,
// the first procs%ranks ranks one more. Ranks outside of [0, ranks) take none.
func Deal(procs, ranks, rank int) (first, n int) {
	if procs <= 0 || ranks <= 0 || rank < 0 || rank >= ranks {
		return 0, 0
	}
	each, more := procs/ranks, procs%ranks
	first = rank*each + min(rank, more)
	if rank < more {
		each++
	}
	return first, each
}
