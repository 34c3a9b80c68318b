// Package edge is the part of the C library without C: error codes, handles,
// option strings, decompositions as PIO gives them, slices over foreign memory.
// It does not use cgo, so that it is built and tested everywhere.
//
// The numbers of Code and Type are part of the ABI: they are the numbers of blobio.h.
package edge
