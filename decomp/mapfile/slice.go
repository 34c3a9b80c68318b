package mapfile

import (
	"math"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

// Words of Options.Slice.
const (
	correct     = "correct"
	reference   = "reference"
	withFillers = "with-fillers"
)

// Options for Raw.Map. The zero value is the default.
type Options struct {
	// Slice says which of the requests of the map processes a rank takes. It only matters for maps with fillers (the I
	// case). "correct" (default, also "") takes the requests of the map processes that are dealt to the rank, without their
	// fillers; "with-fillers" takes the fillers as well, as E3SM-IO does with -u. "reference" does what E3SM-IO does
	// without -u: it takes as many requests as "correct", but from the wrong place. The lists of all processes lie in the
	// file one after the other, fillers included, and E3SM-IO starts reading for a rank where the list would start if
	// there were no fillers. So fillers are mixed in and some true requests are dropped.
	Slice string
	// Unsorted leaves the requests as they are in the file (-q of E3SM-IO);
	// else they are sorted and merged, per rank.
	Unsorted bool
	// Coalesce merges requests of a rank that overlap as E3SM-IO does: their lengths are added, so that the rank claims
	// elements that it does not hold. Else they stay apart.
	Coalesce bool
	// Factor multiplies the fastest dimension, offsets and lengths (-e of
	// E3SM-IO). 0 and 1 change nothing. For the G case E3SM-IO does that for
	// maps of two dimensions only: that is the caller's choice.
	Factor int64
}

// Validate reports what is wrong with o.
func (o *Options) Validate() error {
	switch o.Slice {
	case "", correct, reference, withFillers:
	default:
		return fault.Usage("slice %q, want correct, reference or with-fillers", o.Slice)
	}
	if o.Factor < 0 {
		return fault.Usage("factor %d, want >= 0", o.Factor)
	}
	return nil
}

// Map returns the map for a number of ranks. The map processes are dealt to
// them (see decomp.Deal), then the requests of each rank are sorted and merged.
func (r *Raw) Map(ranks int, o Options) (*decomp.Map, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if ranks < 0 || ranks > decomp.MaxRanks {
		return nil, fault.Usage("%d ranks, want 0 to %d", ranks, decomp.MaxRanks)
	}
	dims := r.Reqs.Dims()
	factor := max(o.Factor, 1)
	last := int64(0)
	if n := len(dims); n > 0 {
		if dims[n-1] > math.MaxInt64/factor {
			return nil, fault.Usage("factor %d is too large for dimensions %v", factor, dims)
		}
		dims[n-1] *= factor
		last = dims[n-1]
	}
	b := decomp.NewBuilder(dims, ranks)
	if r.Reqs.Elems() > math.MaxInt64/factor {
		return nil, fault.Usage("factor %d is too large for dimensions %v", factor, dims)
	}
	flat := flatReqs{r: r}
	var buf []decomp.Req
	for rank := range ranks {
		first, n := decomp.Deal(r.Procs(), ranks, rank)
		buf = buf[:0]
		for p := first; p < first+n; p++ {
			switch o.Slice {
			case reference:
				buf = flat.next(buf, r.FillStart(p))
			default:
				at := len(buf)
				buf = r.Reqs.AppendReqs(buf, p)
				if o.Slice != withFillers {
					buf = buf[:at+int(r.FillStart(p))]
				}
			}
		}
		if factor > 1 {
			for i := range buf {
				buf[i].Offset *= factor
				buf[i].Length *= factor
			}
		}
		reqs := buf
		switch {
		case o.Unsorted:
		case o.Coalesce:
			reqs = decomp.SortCoalesce(buf, last)
		default:
			reqs = decomp.SortMerge(buf, last)
		}
		if err := b.Set(rank, reqs); err != nil {
			return nil, err
		}
	}
	return b.Map()
}

// flatReqs reads the lists of all processes as one.
type flatReqs struct {
	r    *Raw
	proc int
	buf  []decomp.Req
	left []decomp.Req // of the current process
}

// next appends the next n requests.
func (f *flatReqs) next(dst []decomp.Req, n int64) []decomp.Req {
	for n > 0 {
		if len(f.left) == 0 {
			if f.proc >= f.r.Procs() {
				return dst
			}
			f.buf = f.r.Reqs.AppendReqs(f.buf[:0], f.proc)
			f.left = f.buf
			f.proc++
			continue
		}
		k := min(n, int64(len(f.left)))
		dst = append(dst, f.left[:k]...)
		f.left = f.left[k:]
		n -= k
	}
	return dst
}
