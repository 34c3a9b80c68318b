package pio

import (
	"blobio/blob"
	"blobio/decomp"
)

// routing is the part of a variable that each rank gives to the writer.
type routing uint8

const (
	whole    routing = iota // not decomposed: the root has all of it
	share                   // each rank has one share of the array, all of about the same length
	straight                // each rank has the elements that it has written
)

// route is how one variable gets to a writer.
type route struct {
	v       *variable
	name    string // in the writer's schema
	id      blob.VarID
	routing routing
	d       *Decomp // straight
	dec     blob.DecompID
	elems   int64 // of a record
	record  bool
	old     int64 // records that the writer takes from the base
}

// bounds are the elements of a record that a rank has, of whole and share.
func (r *route) bounds(root, rank, ranks int) (lo, hi int64) {
	if r.routing == whole {
		if rank == root {
			return 0, r.elems
		}
		return 0, 0
	}
	each, more := r.elems/int64(ranks), r.elems%int64(ranks)
	n := int64(rank)
	lo = n*each + min(n, more)
	return lo, lo + each + map[bool]int64{true: 1}[n < more]
}

// owner is the rank that has an element, and the end of its elements.
func (r *route) owner(off int64, root, ranks int) (rank int, end int64) {
	if r.routing == whole {
		return root, r.elems
	}
	each, more := r.elems/int64(ranks), r.elems%int64(ranks)
	if off < more*(each+1) {
		rank = int(off / (each + 1))
	} else {
		rank = int((off-more*(each+1))/each + more)
	}
	_, end = r.bounds(root, rank, ranks)
	return rank, end
}

// runs are this rank's elements of a decomposed variable.
func (r *route) runs(s *System, shape []int64) []decomp.Req {
	row := shape[len(shape)-1]
	if r.routing == straight {
		if row == r.d.dims[len(r.d.dims)-1] {
			return r.d.runs
		}
		var runs []decomp.Req
		for _, q := range r.d.runs {
			runs = append(runs, rows(q.Offset, q.End(), row)...)
		}
		return runs
	}
	lo, hi := r.bounds(s.root(), s.c.Rank(), s.c.Size())
	return rows(lo, hi, row)
}

// rows are the runs of a share; none goes beyond the end of a row.
func rows(lo, hi, row int64) (runs []decomp.Req) {
	for lo < hi {
		end := min(hi, lo-lo%row+row, lo+1<<30)
		runs = append(runs, decomp.Req{Offset: lo, Length: end - lo})
		lo = end
	}
	return runs
}
