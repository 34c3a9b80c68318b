// Package decomp has decomposition maps, which assign the elements of an array to ranks.
//
//	Builder, Regular, Map.Sub       make a Map
//	Map.Reqs, Clip                  requests of a rank
//	Map.Scatter, Gather             copy between a blob and the canonical array
//	Map.Index, Index.At, Range      owners of elements
//	Map.Coverage                    gaps and overlaps
//
// The decomposed dimensions of a variable, slowest first, are flattened in C order. An index in the flattened array is a
// canonical offset, counted in elements from 0. A request is a run of elements: offset and length. A rank owns a list of
// requests. The order of the list is map order: the p-th element of a rank's blob is the p-th element of its concatenated
// requests. A list may be unsorted and may have overlaps and empty requests. A Map has the lists of all ranks. It is
// immutable and safe for concurrent use.
//
// Package mapfile reads and writes map files.
//
// Read first: map.go, builder.go, scatter.go.
package decomp

// Storage of a map. A production map has tens of millions of requests, but the requests repeat: a rank of the F case owns
// the same columns on each of 72 levels. So a rank is a sequence of blocks. A block is a pattern of runs, repeated count
// times and shifted by stride each time:
//
//	rank   | block | block | ...
//	block  base, count, stride, pattern, pos
//	         repetition r starts at canonical offset base + r*stride
//	         and at blob position          pos  + r*elems
//	pattern  run 0: rel 0        length end[0]
//	         run 1: rel rel[1]   length end[1]-end[0]
//	         ...                 elems = end[n-1]
//
// A pattern of a single run needs no storage. Equal patterns are stored once. A list without repetitions takes 8 bytes per
// request. Sorted lists, as made by SortCoalesce, are searched by bisection.
