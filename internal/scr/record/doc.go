// Package record holds the two descriptions that several files of SCR carry: that
// of a dataset (below DSET or DSETDESC) and of a file of a dataset (below
// META). Both are values with plain fields; keys that are not known here are kept
// in Extra and written again. docs/format-scr.md has the keys.
//
// A value that is not a number where one is wanted, or is out of range, is an error;
// a key that is absent is not.
//
// Read first: fields.go.
package record
