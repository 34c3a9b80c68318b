package slab

import (
	"iter"
	"sort"
)

// Array is a part of a canonical array: an index of each dimension, slowest first. It is immutable.
type Array struct {
	axes  []axis // axes up to the last axis that is not selected completely
	inner int64  // contiguous elements for each index of the last axis
	elems int64  // elements of the part
}

type axis struct {
	take   Index
	ends   []int64 // for each span, the number of indices up to its end
	n      int64   // number of indices
	stride int64   // elements between consecutive indices
}

// NewArray returns the selected part of an array of the given shape. A nil or missing index selects the whole dimension.
func NewArray(shape []int64, take []Index) *Array {
	a := &Array{inner: 1, elems: 1}
	last := -1
	index := func(i int) Index {
		if i < len(take) && !take[i].All(shape[i]) {
			return take[i]
		}
		return nil
	}
	for i := range shape {
		if index(i) != nil {
			last = i
		}
	}
	stride := int64(1)
	for i := len(shape) - 1; i > last; i-- {
		stride *= shape[i]
	}
	a.inner = stride
	a.elems = stride
	a.axes = make([]axis, last+1)
	for i := last; i >= 0; i-- {
		x := axis{take: index(i), n: shape[i], stride: stride}
		if x.take == nil {
			x.take = Index{{0, shape[i], 1}}
		}
		x.n = 0
		for _, s := range x.take {
			x.n += s.Count
			x.ends = append(x.ends, x.n)
		}
		a.axes[i] = x
		a.elems *= x.n
		stride *= shape[i]
	}
	return a
}

// Elems returns the number of elements of the part.
func (a *Array) Elems() int64 { return a.elems }

// Whole reports whether the part is the whole array.
func (a *Array) Whole() bool { return len(a.axes) == 0 }

// at returns the k-th index of the axis, and the number of consecutive indices from there.
func (x *axis) at(k int64) (index, run int64) {
	i := 0
	if len(x.ends) > 1 {
		i = sort.Search(len(x.ends), func(i int) bool { return x.ends[i] > k })
	}
	s := x.take[i]
	k -= x.ends[i] - s.Count
	if s.Stride == 1 {
		return s.First + k, s.Count - k
	}
	return s.First + k*s.Stride, 1
}

// Runs yields the runs of elements [lo, hi) of the part: offset in the array and length, in the order of the part. It joins
// adjacent runs where this takes no extra search.
func (a *Array) Runs(lo, hi int64) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		if a.Whole() {
			if lo < hi {
				yield(lo, hi-lo)
			}
			return
		}
		off, n := int64(0), int64(0) // the current run, which may continue
		for pos := lo; pos < hi; {   // lo stays unchanged, because the caller may iterate again
			k, rest := pos/a.inner, pos%a.inner
			at, room := rest, int64(0)
			for i := len(a.axes) - 1; i >= 0; i-- {
				x := &a.axes[i]
				index, run := x.at(k % x.n)
				if at += index * x.stride; i == len(a.axes)-1 {
					room = run*a.inner - rest
				}
				k /= x.n
			}
			room = min(room, hi-pos)
			if n > 0 && off+n == at {
				n += room
			} else {
				if n > 0 && !yield(off, n) {
					return
				}
				off, n = at, room
			}
			pos += room
		}
		if n > 0 {
			yield(off, n)
		}
	}
}
