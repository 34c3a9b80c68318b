// Package ffformat reads, checks and writes FTI-FF files, the checkpoint files of
// FTI (the Fault Tolerance Interface). Each rank has one file, which holds variables of
// the application and the metadata for reading them back. Package ffstore keeps
// checkpoints of many ranks.
//
//	NewReader          reads and verifies variables: ReadVar, ReadVars, CopyVar
//	Check, Diff        Check finds faults, Diff finds differences
//	Repair             saves the good data of a damaged file
//	Convert, Compact   Convert changes the layout or hash, Compact removes dead space
//	NewWriter          writes checkpoints, full or differential, in place
//	Decode             reads only the metadata: a File
//
// A variable is a numbered sequence of bytes. The file does not store its type, shape
// or name. A variable lies in one or more containers, which are ranges of the file with a fixed
// place and size. The part of a variable in one container is a chunk. There are seven layouts, A,
// B, C0 and C to F, for different versions of FTI. A file does not name its layout, so a reader
// finds it by content. Only blobio writes files of layout F with Hash Fast, and FTI refuses these
// files.
//
// FTI's hashes cover the data and some of the metadata; Check and Reader check
// the rest against the format's rules. Big-endian files and FTI's MPI-IO, HDF5 and
// SIONlib formats are not supported.
//
// docs/format-fti-ff.md describes layouts and hashes, with an example in bytes.
//
// Read first: model.go, reader.go, writer.go.
package ffformat
