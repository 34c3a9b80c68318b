// Package h5 reads and writes the subset of HDF5 that the formats of this module need. It is pure Go and never needs a
// whole file in memory.
//
//	NewFile                  a File from an io.ReaderAt
//	File.Lookup              objects; Group.Members, Object.Attrs
//	Dataset.Read, ReadRaw    hyperslabs, converted or unchanged; Offset of contiguous data
//	NewBuilder               datasets, attributes and stamped groups of a new file
//	Builder.Layout           the metadata, and the file offset of each dataset:
//	                         any number of processes can then write data in place
//	NewOrdered, NewFilterer  a file in the newer form: order kept, chunks, filters, references
//
// The package reads superblocks 0 to 3, old and new groups and attributes, integers, floats, enumerations and strings. It
// reads contiguous, compact and chunked data, with the filters deflate, shuffle, fletcher32 and zstd.
//
// It writes superblock 0 with contiguous datasets of little-endian numbers and fixed strings, and superblock 2, also with
// chunks. It writes no time stamps, so that the same calls give the same bytes. Any other feature gives an ErrUnsupported
// that names it, but only when it is used.
//
// Errors are *FormatError with the absolute offset of the faulty field. Checksums are verified before the protected bytes
// are used. Lengths are compared with the file's before anything is allocated. Parts without a checksum in HDF5
// (superblocks 0 and 1, contiguous data) may be damaged without an error. Files are not locked, so a reader may get wrong
// data while a file is being written.
//
// docs/format-h5.md has the supported subset, with an example in bytes.
//
// Read first: file.go, dataset.go, chunk.go; for writing builder.go, ordered.go.
package h5
