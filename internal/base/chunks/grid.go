// Package chunks cuts arrays into chunks, for formats that store an array as a grid of them.
//
// A chunk is a contiguous run of the array in C order. It has several records of a small variable, or a part of one record of a
// large variable. Such a part has one index of each leading dimension, a range of one dimension, and all indices of the later
// dimensions. So a chunk can be read in a few large pieces, and chunks have the same order in the array and in the grid.
package chunks

import "slices"

// A Grid is an array and the shape of its chunks. The last chunks of a dimension may extend beyond the array.
type Grid struct {
	Full  []int64 // lengths of the dimensions, slowest first; 0 is allowed
	Chunk []int64 // chunk lengths, each at least 1
}

// few divides the target size of a chunk with several records. Such chunks are smaller because a reader of one record must read
// all records of the chunk.
const few = 8

// Cut chooses chunks of at most target bytes, or of one element if an element is larger, for an array with elements of size
// bytes. With records, the first dimension counts records. The chunks along a divided dimension are about equal.
func Cut(full []int64, records bool, size int, target int64) Grid {
	return cut(full, records, false, size, target)
}

// CutGrowing is Cut for an array whose first dimension, the number of records, grows. The chunks do not depend on the number of
// records.
func CutGrowing(full []int64, size int, target int64) Grid {
	return cut(full, true, true, size, target)
}

// mostGrowing is the maximum of records per chunk in a growing array.
const mostGrowing = 1024

func cut(full []int64, records, grows bool, size int, target int64) Grid {
	g := Grid{Full: full, Chunk: make([]int64, len(full))}
	inner := int64(size) // bytes of the dimensions after this one
	for i := len(full) - 1; i >= 0; i-- {
		room := target
		if records && i == 0 {
			room /= few
		}
		if grows && i == 0 {
			g.Chunk[i] = min(max(room/inner, 1), mostGrowing)
			break
		}
		g.Chunk[i] = even(full[i], max(room/inner, 1))
		if inner *= g.Chunk[i]; g.Chunk[i] < full[i] {
			inner = target + 1 // the earlier dimensions have one index each
		}
	}
	return g
}

// even divides n into the smallest number of about equal parts of at most most, and returns the length of a part.
func even(n, most int64) int64 {
	if n == 0 {
		return 1
	}
	parts := ceil(n, most)
	return ceil(n, parts)
}

func ceil(a, b int64) int64 { return a/b + min(a%b, 1) }

// Counts returns the number of chunks along each dimension.
func (g Grid) Counts() []int64 {
	n := make([]int64, len(g.Full))
	for i := range n {
		n[i] = ceil(g.Full[i], g.Chunk[i])
	}
	return n
}

// Has reports whether the grid has a chunk with this index.
func (g Grid) Has(index []int64) bool {
	if len(index) != len(g.Full) {
		return false
	}
	for i, k := range index {
		if k < 0 || k >= ceil(g.Full[i], g.Chunk[i]) {
			return false
		}
	}
	return true
}

// Region returns the start of the chunk with this index and its number of elements in the array, along each dimension. The grid
// must have the chunk.
func (g Grid) Region(index []int64) (start, count []int64) {
	start, count = make([]int64, len(index)), make([]int64, len(index))
	for i, k := range index {
		start[i] = k * g.Chunk[i]
		count[i] = min(g.Chunk[i], g.Full[i]-start[i])
	}
	return start, count
}

// Elems returns the number of elements of a chunk, including elements beyond the array.
func (g Grid) Elems() int64 {
	n := int64(1)
	for _, c := range g.Chunk {
		n *= c
	}
	return n
}

// Split returns the dimension along which chunks follow each other: the last dimension that is divided into chunks. It returns
// -1 if there is only one chunk.
func (g Grid) Split() int {
	for i := len(g.Full) - 1; i >= 0; i-- {
		if g.Chunk[i] < g.Full[i] {
			return i
		}
	}
	return -1
}

// Index returns the k-th index below counts, in the order of Next.
func Index(k int64, counts []int64) []int64 {
	index := make([]int64, len(counts))
	for i, n := range slices.Backward(counts) {
		index[i], k = k%n, k/n
	}
	return index
}

// Next changes index to the next index below counts, the last dimension fastest. It returns false if index was the last one.
func Next(index, counts []int64) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < counts[i] {
			return true
		}
		index[i] = 0
	}
	return false
}
