// Package hostlist is the algebra of host names: the compressed form that
// resource managers print, and lists of names.
//
//	compressed  atlas[3,5-7,9-11]
//	list        atlas3 atlas5 atlas6 atlas7 atlas9 atlas10 atlas11
//
// # Compressed form
//
//	hosts   = group { "," group }
//	group   = text { "[" ranges "]" text }
//	ranges  = range { "," range }
//	range   = number | number "-" number
//
// Blanks may separate groups too. A number keeps its leading zeros: n[08-10]
// is n08 n09 n10. Several brackets in one group multiply, the last one running
// fastest: r[1-2]n[1-2] is r1n1 r1n2 r2n1 r2n2. Names without a number stay
// as they are.
//
// [Expand] keeps order and duplicates. [Compress] sorts by number within each
// machine name and keeps duplicates (atlas[3,3,5]); machine names are in the
// order of their bytes. The number of a host is the last run of digits of its
// first label, so that node3.site.org and node4.site.org give
// node[3-4].site.org.
//
// [Diff] and [Intersect] look at names only: what remains is in the order of
// the first list, with its duplicates.
//
// Read first: expand.go.
package hostlist
