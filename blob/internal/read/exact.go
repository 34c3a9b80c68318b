package read

import (
	"context"
	"iter"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/decomp"
)

// Elements are read together with what lies near them. A fault that is met on the way may be of what nobody asked for; so what failed is read
// once more, without anything else. What a read touches are then the elements that it asks for, and all that is compared with a checksum
// together with one of them.

// exactStep is how many bytes are found right or wrong at a time.
const exactStep = 64 << 10

// exact is fm for reading nothing but what is wanted, all of which is compared with its checksums.
func (r *Prover) exact(fm Form) Form {
	fm.exact = true
	switch r.Files.Opt.Verify {
	case VerifyNever:
	case VerifyAlways:
		fm.Known = NewKnown()
	default:
		fm.Known = r.known
	}
	return fm
}

// Exactly reads runs of one record as gather does, in steps of bounded memory.
func (r *Elems) Exactly(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	fm = r.Prover.exact(fm)
	size := int64(r.Data.Schema.Vars[v].Type.Size())
	step := max(1, exactStep/size)
	var some []decomp.Req
	sum := int64(0)
	flush := func() error {
		n := sum * size
		err := r.RawRuns(ctx, v, rec, EachRun(slices.Values(some)), dst[:n], fm)
		dst, some, sum = dst[n:], some[:0], 0
		return err
	}
	for off, n := range runs {
		for n > 0 {
			k := min(n, step-sum)
			some = append(some, decomp.Req{Offset: off, Length: k})
			off, n, sum = off+k, n-k, sum+k
			if sum < step {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if sum == 0 {
		return nil
	}
	return flush()
}

// EachRun yields the runs of requests that are not empty.
func EachRun(reqs iter.Seq[decomp.Req]) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		for q := range reqs {
			if q.Length > 0 && !yield(q.Offset, q.Length) {
				return
			}
		}
	}
}
