package pio

import (
	"blobio/blob"
	"blobio/decomp"
)

// routing selects the part of a variable that each rank passes to the writer.
type routing uint8

const (
	whole    routing = iota // no decomposition: the root has all elements
	share                   // each rank has one share of the array, of nearly equal length
	straight                // each rank has the elements that it wrote
	blank                   // a large variable without writes: no rank has elements, and all are fill values
)

// route describes how one variable gets to a writer.
type route struct {
	v       *variable
	name    string // name in the writer's schema
	id      blob.VarID
	routing routing
	d       *Decomp // for straight
	dec     blob.DecompID
	elems   int64 // elements per record
	record  bool
	old     int64 // number of records to copy from the base
}

// bounds returns the range of elements of a record that a rank has, for whole and share.
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

// owner returns the rank that has an element, and the end of that rank's range.
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

// runs returns this rank's runs of a decomposed variable.
func (r *route) runs(s *System, shape []int64) []decomp.Req {
	if r.routing == blank {
		return nil
	}
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

// rows returns the runs of a share; none extends beyond the end of a row.
func rows(lo, hi, row int64) (runs []decomp.Req) {
	for lo < hi {
		end := min(hi, lo-lo%row+row, lo+1<<30)
		runs = append(runs, decomp.Req{Offset: lo, Length: end - lo})
		lo = end
	}
	return runs
}
