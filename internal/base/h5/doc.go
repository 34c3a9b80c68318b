// Package h5 reads and writes the subset of HDF5 that the formats of this module
// need. It is pure Go and never needs a whole file in memory.
//
//	NewFile                  a File from an io.ReaderAt
//	File.Lookup              objects; Group.Members, Object.Attrs
//	Dataset.Read, ReadRaw    hyperslabs, converted or as they are; Offset of contiguous data
//	NewBuilder               datasets, attributes and stamped groups of a file to be written
//	Builder.Layout           the metadata, and the file offset of each dataset:
//	                         any number of processes can then write data in place
//	NewOrdered, NewFilterer  a file in the newer form: order kept, chunks, filters, references
//
// Read: superblocks 0 to 3, old and new groups and attributes, integers, floats,
// enumerations and strings, contiguous, compact and chunked data, the filters
// deflate, shuffle, fletcher32 and zstd. Written: superblock 0, contiguous datasets of
// little-endian numbers and fixed strings; superblock 2, also chunked; without time
// stamps, so that the same calls give the same bytes. Everything else is ErrUnsupported, which names the
// feature, and only when it is touched.
//
// Errors are *FormatError with the absolute offset of the field at fault. Checksums
// are verified before what they guard is used, and lengths compared with the file's
// before anything is allocated. Parts without a checksum in HDF5 (superblocks 0 and 1,
// contiguous data) can be wrong unnoticed. Nothing is locked: a file that is being
// written may be read wrongly.
//
// docs/format-h5.md has what is written and read, with an example in bytes.
//
// Read first: file.go, dataset.go, chunk.go; for writing builder.go, ordered.go.
package h5
