// Package subfile says which rank writes which file of a dataset, what those
// files are called, how a dataset is committed, and how many of its files may
// be open at once.
//
// # Names
//
//	F_h0.nc.0000            a subfile: the base name and the subfile number, at least four digits
//	F_h0.nc.0000.partial    the same while it is being written
//	F_h0.nc.manifest        the dataset is whole
//	F_h0.nc.manifest.next   a commit is being prepared; .manifest.next.partial while this record is written
//	F_h0.h5+1.0000          a subfile of the first set of records appended to a process-centric dataset
//
// # Commit
//
// The manifest is the commit record. Its states on disk, and what they mean
// to somebody who opens the dataset:
//
//	.manifest   .manifest.next          meaning
//	absent      absent                  foreign: written by another program, nothing is known
//	absent      unprepared or torn      never finished: ErrNotCommitted
//	present     absent                  whole, as .manifest says
//	present     unprepared or torn      whole, as .manifest says; a writer is at work, or died
//	any         prepared                whole, as .manifest.next says: every byte of it was durable before
//	                                    the record was, only renames (or a record count) may be outstanding
//
// A reader uses a prepared record as it is, taking a subfile under its partial
// name where the rename is outstanding; the next writer finishes the renames
// (Recover). So an old dataset that is being replaced stays readable until the
// instant at which the new one is whole.
//
// Replacing a dataset of another program announces nothing: an unprepared
// record beside it would say that it was never finished. Its first record is the
// prepared one. So subfiles beside an unprepared record, and no manifest, are
// always the work of a writer that died.
//
// # Manifest
//
// One JSON object and a line feed, then {"crc32":"xxxxxxxx"} and a line feed:
// the CRC-32 (IEEE) of all bytes of the first line. The fields are those of
// Manifest, SetInfo and Subfile, which say what must hold. Checksums are 8
// lower-case hex digits; the list of a subfile is one string of them.
//
//	header_crc  the header's bytes with numrecs (8 bytes, 4 behind its start) as zeros
//	extents     fixed variables (maps included) in the order of the header; then record
//	            by record all record variables: ExtentIndex
//	            variable-centric: bytes of the file, without the pad behind
//	            process-centric:  the pieces of all blobs, joined in their order
//	pieces      of each longer extent, Manifest.Piece bytes at a time: those of one extent after the other
//	maps        for subfile s and sub rank j: h = s<<32 ^ j ^ 0x9e3779b97f4a7c15, then
//	            h = mix(h^offset), h = mix(h^length) for each request; the sum of mix(h)
//	            over all ranks modulo 2^64, as 16 hex digits. mix(x) is twice x ^= x>>32,
//	            x *= 0xd6e8feb86659fd93, then x ^= x>>32
//
// docs/format-manifest.md has examples, and the order of the steps of a commit.
package subfile
