package mapfile

import (
	"math"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

// Values of Options.Slice.
const (
	correct     = "correct"
	reference   = "reference"
	withFillers = "with-fillers"
)

// Options are options of Raw.Map. The zero value is the default.
type Options struct {
	// Slice selects the requests of the map processes that a rank gets. It only matters for maps with fillers (the I case).
	// "correct" (default, also "") selects the requests of the rank's map processes, without fillers. "with-fillers" includes the
	// fillers, like E3SM-IO with -u. "reference" does the same as E3SM-IO without -u: it selects as many requests as "correct", but
	// at a wrong offset. In the file, the lists of all processes follow each other, including fillers. E3SM-IO reads a rank's
	// requests where its list would begin without fillers. So fillers are mixed in and some true requests are lost.
	Slice string
	// Unsorted keeps the order of requests in the file (E3SM-IO's -q). Without it, the requests of each rank are sorted and merged.
	Unsorted bool
	// Coalesce merges overlapping requests of a rank like E3SM-IO: it adds their lengths, so the rank claims elements that it does
	// not have. Without it, overlapping requests stay separate.
	Coalesce bool
	// Factor multiplies the fastest dimension, offsets and lengths (E3SM-IO's -e). 0 and 1 change nothing. For the G case E3SM-IO
	// multiplies only maps of two dimensions; the caller must decide this.
	Factor int64
}

// Validate returns an error if an option is invalid.
func (o *Options) Validate() error {
	switch o.Slice {
	case "", correct, reference, withFillers:
	default:
		return fault.Usage("slice %q, want \"correct\", \"reference\" or \"with-fillers\"", o.Slice)
	}
	if o.Factor < 0 {
		return fault.Usage("factor %d, want >= 0", o.Factor)
	}
	return nil
}

// Map returns the map for a number of ranks. It deals the map processes to the ranks (see decomp.Deal), then sorts and merges the
// requests of each rank.
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

// flatReqs reads the lists of all processes as one list.
type flatReqs struct {
	r    *Raw
	proc int
	buf  []decomp.Req
	left []decomp.Req // remaining requests of the current process
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
