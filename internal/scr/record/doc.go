// Package record holds two records that several files of SCR contain: the record of a dataset (below DSET or DSETDESC), and the
// record of a file of a dataset (below META). Unknown keys are kept in Extra and written again. docs/format-scr.md describes
// the keys.
//
// A malformed or out-of-range number is an error; a missing key is not.
//
// Read first: fields.go.
package record
