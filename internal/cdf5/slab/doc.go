// Package slab selects parts of arrays: hyperslabs in the syntax of ncks (-d lat,30.,60. -d time,0,9,3), the indices that they select, and
// the runs of the canonical array that these are. It does no input or output.
package slab
