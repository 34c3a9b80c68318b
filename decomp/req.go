package decomp

// A Req is a request: a run of elements, in canonical order.
type Req struct {
	Offset int64 // canonical offset in elements, from 0
	Length int64 // in elements
}

// End returns the offset after the last element.
func (r Req) End() int64 { return r.Offset + r.Length }

// A Piece is a part of a request: elements [Off, Off+Len) of the canonical array are elements [Pos, Pos+Len) of the rank's blob.
type Piece struct {
	Off, Pos, Len int64
}

// Deal returns the map processes that rank gets when procs processes are dealt to ranks: n consecutive processes from first. Each
// rank gets procs/ranks processes, and the first procs%ranks ranks get one more. Ranks outside [0, ranks) get none.
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
