// Package edge is the part of the C library without C: error codes, handles, option strings, PIO's decompositions, slices over
// memory of the caller. It does not use cgo, so that it can be built and tested everywhere.
//
// The numbers of Code and Type are part of the ABI and equal the numbers in blobio.h.
package edge
