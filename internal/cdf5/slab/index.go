package slab

import (
	"cmp"
	"fmt"
	"slices"

	"blobio/internal/base/fault"
)

// Span is Count indices of a dimension, from First, with distance Stride.
type Span struct{ First, Count, Stride int64 }

func (s Span) last() int64 { return s.First + (s.Count-1)*s.Stride }

// Index has the selected indices of one dimension, in order: a sequence of spans. A nil Index selects everything.
type Index []Span

// maxLoose is the maximum of spans of an index. An unordered list of indices has one span for each index.
const maxLoose = 1 << 26

// Len returns the number of indices.
func (x Index) Len() (n int64) {
	for _, s := range x {
		n += s.Count
	}
	return n
}

// At returns the k-th index, which must exist.
func (x Index) At(k int64) int64 {
	for _, s := range x {
		if k < s.Count {
			return s.First + k*s.Stride
		}
		k -= s.Count
	}
	panic("slab: Index.At beyond the end")
}

// Check returns an error if the index is empty or is invalid for a dimension of n elements.
func (x Index) Check(n int64) error {
	if len(x) == 0 {
		return fault.Usage("the selection has no elements")
	}
	total := int64(0)
	for _, s := range x {
		switch {
		case s.Count < 1 || s.Stride < 1:
			return fault.Usage("%d elements with stride %d, want both at least 1", s.Count, s.Stride)
		case s.First < 0 || s.First >= n || (s.Count-1) > (n-1-s.First)/s.Stride:
			return fault.Usage("%d elements from index %d on with stride %d, want indices within 0 to %d", s.Count, s.First, s.Stride, n-1)
		}
		if total += s.Count; total > n { // each element at most once
			return fault.Usage("the selection has more elements than the dimension, which has %d", n)
		}
	}
	return nil
}

// All reports whether an index selects all n elements in order.
func (x Index) All(n int64) bool {
	return x == nil || len(x) == 1 && x[0] == (Span{0, n, 1}) || n == 1 && x.Len() == 1
}

// piece is a run of consecutive indices [from, to).
type piece struct{ from, to int64 }

// pieces lists the consecutive runs of an index in ascending order.
func (x Index) pieces() ([]piece, error) {
	var out []piece
	for _, s := range x {
		if s.Stride == 1 {
			out = append(out, piece{s.First, s.First + s.Count})
			continue
		}
		if s.Count > maxLoose-int64(len(out)) {
			return nil, fmt.Errorf("the selection has more than %d separate elements: %w", maxLoose, fault.ErrTooLarge)
		}
		for k := range s.Count {
			out = append(out, piece{s.First + k*s.Stride, s.First + k*s.Stride + 1})
		}
	}
	slices.SortFunc(out, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	return joined(out), nil
}

// joined joins sorted pieces that touch or overlap.
func joined(l []piece) []piece {
	out := l[:0]
	for _, p := range l {
		if n := len(out); n > 0 && p.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, p.to)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// indexOf returns the index of pieces. Equally spaced single indices become a span with a stride.
func indexOf(l []piece) Index {
	var out Index
	for _, p := range l {
		n := len(out)
		if p.to-p.from == 1 && n > 0 {
			switch s := &out[n-1]; {
			case s.Count == 1:
				s.Stride, s.Count = p.from-s.First, 2
				continue
			case s.Stride > 1 && p.from == s.last()+s.Stride:
				s.Count++
				continue
			}
		}
		out = append(out, Span{p.from, p.to - p.from, 1})
	}
	return out
}

// union returns the indices in any of the list, in ascending order.
func union(list []Index) (Index, error) {
	var all []piece
	for _, x := range list {
		p, err := x.pieces()
		if err != nil {
			return nil, err
		}
		all = append(all, p...)
	}
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	return indexOf(joined(all)), nil
}

// intersection returns the indices in both x and y, in ascending order. It may be empty.
func intersection(x, y Index) (Index, error) {
	a, err := x.pieces()
	if err != nil {
		return nil, err
	}
	b, err := y.pieces()
	if err != nil {
		return nil, err
	}
	var out []piece
	for len(a) > 0 && len(b) > 0 {
		if lo, hi := max(a[0].from, b[0].from), min(a[0].to, b[0].to); lo < hi {
			out = append(out, piece{lo, hi})
		}
		if a[0].to <= b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return indexOf(out), nil
}

// thinned returns each stride-th index.
func (x Index) thinned(stride int64) Index {
	if stride == 1 {
		return x
	}
	var out Index
	skip := int64(0) // offset into the next span
	for _, s := range x {
		if skip < s.Count {
			n := (s.Count-1-skip)/stride + 1
			t := Span{s.First + skip*s.Stride, n, s.Stride}
			if n > 1 {
				t.Stride *= stride
			}
			out = append(out, t)
			skip += n * stride
		}
		skip -= s.Count
	}
	return out
}
