// Package hostlist converts between lists of host names and the compressed form
// that resource managers print, and implements set operations on lists.
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
// Blanks may separate groups too. A number keeps its leading zeros: n[08-10] is
// n08 n09 n10. A group with several brackets is expanded to all combinations, and
// the last bracket varies fastest: r[1-2]n[1-2] is r1n1 r1n2 r2n1 r2n2. Names
// without a number stay unchanged.
//
// [Expand] keeps order and duplicates. [Compress] sorts by number within each
// machine name and keeps duplicates (atlas[3,3,5]). Machine names are sorted
// bytewise. The number of a host is the last run of digits of its
// first label, so that node3.site.org and node4.site.org give
// node[3-4].site.org.
//
// [Diff] and [Intersect] compare names only. The result keeps the order and the
// duplicates of the first list.
//
// Read first: expand.go.
package hostlist
