// Package h5 reads and writes the subset of HDF5 that the formats of this
// module are made of. It is pure Go and never needs a whole file in memory.
//
//	Writer  NewBuilder, Root().Group(name), .Dataset(name, type, dims, opts),
//	        .Attr(name, type, dims, value), then Layout: the metadata bytes, and
//	        the file offset of each dataset, so that any number of processes
//	        can write data with positional writes.
//	Reader  NewFile(io.ReaderAt, size, name), Lookup, Members, Attrs, Walk;
//	        Dataset.Offset, ReadAt, Read, ReadRaw.
//
// Byte-level facts are those of the "HDF5 File Format Specification" 3.0 of
// the HDF Group, and of files that libhdf5 1.10 wrote, which the tests compare
// with. Everything is little endian but the elements of data, which say their
// order in their type. O is the size of offsets (addresses), L the size of
// lengths: 2, 4 or 8 bytes each, 8 in what is written. Addresses count from
// the base address: where the signature is. All bits set: undefined.
//
// # What is read
//
//	superblock        0, 1, 2, 3; signature at 0, 512, 1024, 2048, ...
//	object headers    1 and 2, continuations, committed datatypes
//	groups            symbol tables; links in the header; dense links
//	links             hard; soft and external ones are told, never followed
//	attributes        in the header; dense, also outside the heap's blocks
//	datatypes         integers of 1, 2, 4, 8 bytes, enumerations as such, IEEE floats
//	                  of 2, 4, 8 bytes, both orders; fixed strings; strings of
//	                  variable length in attributes; raw bytes of any other type
//	layouts           compact, contiguous, chunked; versions 1 to 4
//	chunk indexes     v1 B-tree; single, implicit, fixed array, extensible
//	                  array (with pages), v2 B-tree
//	filters           deflate, shuffle, fletcher32
//	fill values       of chunks and extents that were never written
//
// Not supported, each an error of class ErrUnsupported that names the thing,
// and only when it is touched: other filters (szip, nbit, scaleoffset, lzf,
// ...), external data files, virtual datasets, drivers of several files, the
// shared message heap, filters on a fractal heap, soft and external links
// (following them), values of compound, reference, opaque, array and
// variable-length types, integers with odd precision, other float layouts,
// layout messages of version 5. A file that a writer has open may be read
// wrongly: nothing is locked.
//
// # What is written
//
// Superblock 0, symbol-table groups, version 1 object headers, contiguous
// datasets of little-endian numbers and fixed strings. Metadata come first,
// then data in the order in which the datasets were made; data begin at 2048
// if the metadata end before. No time stamps: the same calls give the same bytes.
//
//	+------------+-------------+----------------------+------+------+-----
//	| superblock | root group  | datasets' headers,   | gap  | data | ...
//	| 0..95      | header,     | groups below, each   |      | of 1 |
//	|            | table       | with its own table   |      |      |
//	+------------+-------------+----------------------+------+------+-----
//	0            96                                     2048 or after the metadata
//
// Superblock, version 0 (version 1 has four bytes more at 24):
//
//	off len name                          written
//	  0   8 signature                     89 48 44 46 0d 0a 1a 0a
//	  8   1 version                       0
//	  9   4 versions of parts, reserved   0
//	 13   1 O                             8
//	 14   1 L                             8
//	 16   2 symbol node K                 4: at most 8 entries a node
//	 18   2 group B-tree K                16: at most 32 children a node
//	 20   4 flags                         0
//	 24   O base address                  0
//	      O free-space address            undefined
//	      O end of file                   length of the file
//	      O driver information            undefined
//	      40 symbol entry of the root     see below
//
// Superblock, version 2 and 3 (read): signature, version, O, L, flags (1 byte
// each), base, extension, end of file, root object header (O each), checksum.
//
// Object header, version 1: prefix, then messages; a continuation message
// leads to a block of more messages. Blocks are made of about 4 KiB.
//
//	off len name
//	  0   1 version 1
//	  2   2 number of messages, all blocks
//	  4   4 reference count             1
//	  8   4 bytes of messages in this block
//	 16     messages: type 2, size 2 (a multiple of 8), flags 1, zero 3, body
//
// Object header, version 2 (read): "OHDR", version 2, flags; with flag 0x20
// four times of 4 bytes; with 0x10 two limits of 2 bytes; the bytes of messages
// in 1 << (flags & 3) bytes; messages: type 1, size 2, flags 1, with 0x04 order
// of creation 2, body; a gap shorter than that prefix; checksum. Continuations
// are "OCHK", messages, gap, checksum.
//
// Messages:
//
//	type name            body as written, or where it is read from
//	0x01 dataspace       version 1, rank, flags 1 if rank > 0, zero 5, sizes L each,
//	                     largest sizes L each. Version 2: type instead of zeros
//	0x03 datatype        see below
//	0x05 fill value      02 01 01 00: early, never written, undefined
//	0x08 layout          03 01, address O, bytes L. Empty data: address undefined
//	0x0c attribute       version 1, zero 1, bytes of name, datatype, dataspace 2 each;
//	                     these three, each padded to 8; the value
//	0x10 continuation    address O, bytes L
//	0x11 symbol table    B-tree O, local heap O
//	0x02 link info       read: dense links
//	0x06 link            read
//	0x0b filter pipeline read
//	0x15 attribute info  read: dense attributes
//
// Datatype: class in the low, version (1) in the high 4 bits of byte 0; three
// bytes of bits; size 4; properties.
//
//	class      bits                                    properties
//	0 integer  1: big endian, 8: signed                bit offset 2, bits 2
//	1 float    1: big endian, 0x20, byte 1: sign bit   bit offset 2, bits 2, exponent
//	                                                   at 1, of 1, mantissa at 1, of 1, bias 4
//	3 string   0 null-terminated, 1 null-padded,       none
//	           2 space-padded; 0x10: UTF-8
//
// Symbol table of a group: the names in a local heap, sorted; a version 1
// B-tree over symbol nodes of 8 entries. It is loaded from the sorted names in
// one pass, all nodes full but the last ones, so any number of members takes
// linear time (after the sort). In the file: heap, leaves of the tree, each
// level above them, symbol nodes.
//
//	local heap    "HEAP", version 0, zero 3, bytes of data L, free list L (1: none),
//	              data O. Data: names, null-terminated, padded to 8; the
//	              first is empty
//	B-tree node   "TREE", type 0, level, entries 2, left O, right O; key 0, child 0,
//	              key 1, ... A key is the heap offset of a name; the names below child i
//	              are greater than key i and at most key i+1. 544 bytes
//	symbol node   "SNOD", version 1, zero 1, entries 2, entries. 328 bytes
//	symbol entry  name L, object header O, cache 4, zero 4, scratch 16: with cache 1
//	              (groups) B-tree and heap, with cache 2 the heap offset of a soft
//	              link's target
//
// # How dense and chunked storage is read
//
// Dense links and attributes lie in a fractal heap: blocks of a doubling table,
// rows of equal width, row r > 0 of blocks of start << (r-1) bytes, direct
// ones up to a largest size and indirect ones (tables again) above. A heap ID is
// an offset and a length there; or the object itself; or the key of an object that
// lies elsewhere. A version 2 B-tree has a record for each: hash of the name
// (lookup3) and heap ID; another one, if the file keeps it, has them by creation.
//
//	heap "FRHP" -> "FHIB" indirect blocks -> "FHDB" direct blocks
//	tree "BTHD" -> "BTIN" inner nodes     -> "BTLF" leaves
//
// Chunks are found by their place in the grid of chunks: in a B-tree, or in an array
// by their row-major number in the grid of the largest shape, a dimension
// without bound counted as the slowest. Array entries are an address, and
// with filters the stored size and a mask of filters left out. Extensible
// arrays ("EAHD") have their first entries in the index block ("EAIB"), then in
// data blocks ("EADB") that double in size at every second group, those of later groups
// named in secondary blocks ("EASB"); fixed arrays ("FAHD") have one data block
// ("FADB"). Blocks of more than 1 << page bits entries are cut in pages, each with its
// own checksum, and a bitmap tells the pages in use: for extensible arrays its bits
// are numbered through all data blocks of a group, though it has whole bytes
// for each block.
//
// # Bad files
//
// Errors are *FormatError with the absolute offset of the field at fault, and of
// a class for errors.Is. Checksums are verified before what they guard is
// used. Lengths are compared with the file's before anything is
// allocated, and with fixed caps (format.go). B-tree levels must fall, no node,
// continuation block or symbol node is visited twice, names and heap objects
// cannot add up to more than what holds them: so no file keeps a reader busy
// for ever. What has no checksum (superblock 0 and its kin, contiguous data) can
// be wrong unnoticed.
package h5
