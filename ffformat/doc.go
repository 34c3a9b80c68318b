// Package ffformat reads, checks and writes FTI-FF files, the checkpoint files of FTI
// (the Fault Tolerance Interface). Each rank has one file, which holds variables of the
// application and metadata. Package ffstore keeps checkpoints of many ranks.
//
//	NewReader          reads and verifies variables: ReadVar, ReadVars, CopyVar
//	Check, Diff        Check finds faults, Diff finds differences
//	Repair             saves the good data of a damaged file
//	Convert, Compact   Convert changes the layout or hash, Compact removes dead space
//	NewWriter          writes checkpoints, full or differential, in place
//	Decode             reads only the metadata: a File
//
// A variable is a numbered sequence of bytes. The file does not store its type, shape or
// name. A variable lies in one or more containers, ranges of fixed size that never move.
// The part in one container is a chunk. FTI has had seven layouts (A, B, C0, C, D, E, F)
// without a magic number or version; a reader finds the layout by content. Only blobio
// writes files of layout F with Hash Fast; FTI refuses them.
//
// FTI's hashes cover the data and some of the metadata; Check and Reader check other
// metadata by the rules of the format. Big-endian files and FTI's MPI-IO, HDF5 and
// SIONlib formats are not supported.
//
// docs/format-fti-ff.md describes layouts and hashes, with an example in bytes.
//
// Read first: model.go, reader.go, writer.go.
package ffformat
