package blob

import (
	"testing"

	"blobio/cdf5"
)

// TestDoneSet: a record that is put completely keeps no bits, and is known as put.
func TestDoneSet(t *testing.T) {
	s := NewSchema()
	tm, x := s.Dim("t", Unlimited), s.Dim("x", 4)
	d := s.Decomp(x)
	vars := []VarID{
		s.Var("fixed", cdf5.Int, []DimID{x}, Decomposed(d)),
		s.Var("rec", cdf5.Int, []DimID{tm, x}, Decomposed(d)),
		s.Var("plain", cdf5.Int, []DimID{tm}),
	}
	for _, first := range []int{0, 5} { // sub rank 0 is local, or not
		set := newDoneSet([]int{first, first + 1, first + 2}, s)
		put := func(rank int, v VarID, rec int64) bool {
			return set.set(rank, &pend{v: int32(v), rec: rec}, s.vars[v].Record)
		}
		for rec := range int64(3) {
			for rank := range 3 {
				if set.has(rank, &pend{v: int32(vars[1]), rec: rec}, true) || set.complete(rec) {
					t.Errorf("rank %d record %d is there before it was put", rank, rec)
				}
				if put(rank, vars[1], rec) || !put(rank, vars[1], rec) {
					t.Errorf("rank %d record %d: put twice, not seen so", rank, rec)
				}
			}
			if first == 0 {
				if set.complete(rec) || put(0, vars[2], rec) {
					t.Errorf("record %d is complete without the variable that is not decomposed", rec)
				}
			}
			if !set.complete(rec) || set.recs[rec].bits != nil {
				t.Errorf("record %d: not complete", rec)
			}
			for rank := range 3 {
				if !set.has(rank, &pend{v: int32(vars[1]), rec: rec}, true) || !put(rank, vars[1], rec) {
					t.Errorf("rank %d record %d: forgotten", rank, rec)
				}
			}
		}
		if put(1, vars[0], 0) || !put(1, vars[0], 0) || set.has(0, &pend{v: int32(vars[0])}, false) {
			t.Error("fixed variables")
		}
	}
}
