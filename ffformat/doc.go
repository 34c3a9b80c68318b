// Package ffformat reads, checks and writes FTI-FF files, the checkpoint files of
// FTI (the Fault Tolerance Interface): one file per rank, which holds variables of
// the application and what is needed to read them back. Package ffstore keeps
// checkpoints of many ranks.
//
//	NewReader          variables of a file, verified: ReadVar, ReadVars, CopyVar
//	Check, Diff        what is wrong; what differs
//	Repair             saves what is good of a damaged file
//	Convert, Compact   another layout or hash; without dead space
//	NewWriter          new checkpoints, full or differential, in place
//	Decode             the metadata alone: a File
//
// A variable is bytes with a number; type, shape and name are not stored. It lies
// in one or more containers, places of fixed size that are never moved. The part
// of it in a container is a chunk. FTI has had seven layouts, A to F, without
// magic or version; a reader finds the layout by content. Files of layout F with
// Hash Fast are blobio's own; FTI refuses them.
//
// FTI's hashes cover the data and some of the metadata; Check and Reader compare
// the rest with what the format's rules can give. Not supported: big-endian files
// (recognised, ErrUnsupported), rebuilding from parity, FTI's other file formats
// (POSIX, MPI-IO, HDF5, SIONlib).
//
// docs/format-fti-ff.md has layouts and hashes, with an example in bytes.
//
// Read first: model.go, reader.go, writer.go.
package ffformat
