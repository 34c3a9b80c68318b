// Package decomp holds decomposition maps: which rank owns which elements of
// an array.
//
// # Words
//
// The decomposed dimensions of a variable, slowest first, are flattened in C
// order; a position in the flattened array is a canonical offset, counted in
// elements from 0. A request is a run of elements, (offset, length). A rank
// owns a list of requests; the list is in map order, which is the order of the
// elements in the rank's blob: the element at position p of the blob is the
// p-th element of the concatenated requests. A Map holds the lists of all
// ranks. It is immutable and safe for concurrent use.
//
// # How a map is stored
//
// A production map has tens of millions of requests, but they repeat: a rank
// of the F case owns the same columns on each of 72 levels. A rank is
// therefore a sequence of blocks, and a block is a pattern of runs that is
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
// A run that is a pattern of its own needs no pattern storage. Equal patterns
// are stored once. A list without any repetition costs 8 bytes per request.
//
// All lists are accepted: unsorted ones, with overlaps, with empty requests.
// Sorted ones (which SortCoalesce makes) are searched by bisection.
package decomp
