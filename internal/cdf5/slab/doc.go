// Package slab selects parts of arrays: hyperslabs in the syntax of ncks (-d lat,30.,60. -d time,0,9,3), the selected indices,
// and the corresponding runs of the canonical array. It does no I/O.
package slab
