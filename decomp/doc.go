// Package decomp holds decomposition maps: which rank owns which elements of an
// array.
//
//	Builder, Regular, Map.Sub       make a Map
//	Map.Reqs, Clip                  requests of a rank
//	Map.Scatter, Gather             between a blob and the canonical array
//	Map.Index, Index.At, Range      owners of elements
//	Map.Coverage                    gaps and overlaps
//
// The decomposed dimensions of a variable, slowest first, are flattened in C
// order. A position in the flattened array is a canonical offset, counted in
// elements from 0. A request is a run of elements: offset and length. A rank owns
// a list of requests. The order of the list is map order: the element at position
// p of the rank's blob is the p-th element of the concatenated requests. All
// lists are accepted: unsorted ones, with overlaps, with empty requests. A Map
// holds the lists of all ranks; it is immutable and safe for concurrent use.
//
// Map files are read and written by package mapfile.
//
// Read first: map.go, builder.go, scatter.go.
package decomp

// How a map is stored. A production map has tens of millions of requests, but
// they repeat: a rank of the F case owns the same columns on each of 72 levels. A
// rank is therefore a sequence of blocks, and a block is a pattern of runs that is
// repeated count times, each time shifted by stride:
//
//	rank   | block | block | ...
//	block  base, count, stride, pattern, pos
//	         repetition r starts at canonical offset base + r*stride
//	         and at blob position          pos  + r*elems
//	pattern  run 0: rel 0        length end[0]
//	         run 1: rel rel[1]   length end[1]-end[0]
//	         ...                 elems = end[n-1]
//
// A run that is a pattern of its own needs no pattern storage. Equal patterns are
// stored once. A list without any repetition costs 8 bytes per request. Sorted
// lists (which SortCoalesce makes) are searched by bisection.
