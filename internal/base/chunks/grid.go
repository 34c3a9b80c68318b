// Package chunks cuts arrays into chunks, for formats that store an array as a grid of them.
//
// A chunk is a run of the array in C order: it has several records of a small variable, or one record of a large
// one; of that, one index of the leading dimensions, a range of one dimension, and all of those behind it. So a
// chunk is read in a few large pieces, and chunks follow each other in the array as they do in the grid.
package chunks

import "slices"

// A Grid is an array and the shape of its chunks. Those at the end of a dimension may reach over it.
type Grid struct {
	Full  []int64 // lengths of the dimensions, slowest first; 0 is allowed
	Chunk []int64 // as many, each at least 1
}

// few is what part of the wanted size the records of one chunk have together: who wants one of them reads all.
const few = 8

// Cut chooses chunks of at most target bytes (of one element, if that is more) of an array of elements of size bytes. records: the
// first dimension counts records. Chunks of a dimension that is divided are about equal.
func Cut(full []int64, records bool, size int, target int64) Grid {
	return cut(full, records, false, size, target)
}

// CutGrowing is Cut of an array whose number of records, its first dimension, will change: the chunks do not depend on it.
func CutGrowing(full []int64, size int, target int64) Grid {
	return cut(full, true, true, size, target)
}

// mostGrowing is how many records a chunk has at most that are not all there yet.
const mostGrowing = 1024

func cut(full []int64, records, grows bool, size int, target int64) Grid {
	g := Grid{Full: full, Chunk: make([]int64, len(full))}
	inner := int64(size) // bytes of what is behind the dimension
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
			inner = target + 1 // the dimensions before it have one index each
		}
	}
	return g
}

// even is the length of the parts when n is cut into as few equal ones of at most most as can be.
func even(n, most int64) int64 {
	if n == 0 {
		return 1
	}
	parts := ceil(n, most)
	return ceil(n, parts)
}

func ceil(a, b int64) int64 { return a/b + min(a%b, 1) }

// Counts returns how many chunks there are along each dimension.
func (g Grid) Counts() []int64 {
	n := make([]int64, len(g.Full))
	for i := range n {
		n[i] = ceil(g.Full[i], g.Chunk[i])
	}
	return n
}

// Has reports whether there is a chunk of that index.
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

// Region returns where the chunk of an index that the grid has begins, and how many elements of the array are in it along each dimension.
func (g Grid) Region(index []int64) (start, count []int64) {
	start, count = make([]int64, len(index)), make([]int64, len(index))
	for i, k := range index {
		start[i] = k * g.Chunk[i]
		count[i] = min(g.Chunk[i], g.Full[i]-start[i])
	}
	return start, count
}

// Elems returns the elements of a chunk, those beyond the array included.
func (g Grid) Elems() int64 {
	n := int64(1)
	for _, c := range g.Chunk {
		n *= c
	}
	return n
}

// Split returns the dimension along which chunks follow each other: the first one behind which no dimension is divided. It is -1 if there is one chunk.
func (g Grid) Split() int {
	for i := len(g.Full) - 1; i >= 0; i-- {
		if g.Chunk[i] < g.Full[i] {
			return i
		}
	}
	return -1
}

// Index is place k of the indices below the counts, in the order of Next.
func Index(k int64, counts []int64) []int64 {
	index := make([]int64, len(counts))
	for i, n := range slices.Backward(counts) {
		index[i], k = k%n, k/n
	}
	return index
}

// Next steps to the next index, the last dimension fastest, below the counts. It reports whether there is one.
func Next(index, counts []int64) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < counts[i] {
			return true
		}
		index[i] = 0
	}
	return false
}
