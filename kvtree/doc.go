// Package kvtree reads and writes the key/value trees of SCR: the form in which it keeps
// all it knows (indexes, summaries, file maps, headers of redundancy files), byte for byte.
//
//	t := kvtree.New()
//	f := t.SetKVInt("RANK", 0).SetKV("FILE", "ckpt.1/rank_0.ckpt")
//	f.SetBytes("SIZE", 1024)
//	err := kvtree.WriteFile(nil, "summary.scr", t)               // atomic replace
//	t, err = kvtree.ReadFile(nil, "summary.scr", nil)
//	n, err := t.At("RANK", "0", "FILE", "ckpt.1/rank_0.ckpt").Bytes("SIZE")
//	err = kvtree.Update(ctx, nil, "halt.scr", nil, func(t *kvtree.Tree) error { ... }) // in place, locked
//
// Package kvcomm below it moves trees between ranks. docs/format-kvtree.md is the format as a document.
//
// # The tree
//
// A node is a list of elements; an element is a key and a node. Keys are strings without NUL, once in each
// node. A value is a key with an empty node: SIZE = 1024 is SIZE -> 1024 -> (empty). Two trees are
// equal (Equal) if they have the same keys, in any order. The order is kept nevertheless, so that what is
// read is rewritten as it was, and the same calls make the same bytes as in the reference: what is set
// becomes the head of the list.
//
// # Packed form (integers are big-endian)
//
//	node     +-----------+---------+---------+--- ... ---+
//	         | count u32 | element | element |           |   count elements, head first
//	         +-----------+---------+---------+--- ... ---+
//	element  +-----------+----+------+
//	         | key bytes | 00 | node |
//	         +-----------+----+------+
//
// # File record
//
//	offset  bytes  field      must hold                                     else
//	0       4      magic      95 1f c3 f5                                   ErrNotFormat
//	4       2      file type  1                                             ErrUnsupported
//	6       2      version    1                                             ErrVersion
//	8       8      file size  bytes of the record, CRC included: at least   ErrCorrupt
//	                          24, with CRC 28; at most what the file has    ErrTruncated
//	                          and Options.MaxBytes                          ErrTooLarge
//	16      4      flags      bit 0: there is a CRC. Others are ignored     (ErrUnsupported if Strict)
//	20      n      root       a packed node                                 ErrCorrupt
//	20+n    4      crc32      CRC-32 (IEEE) of all bytes before it          ErrChecksum
//
// Always written with a CRC. Other data may follow the record in its file (redundancy files: the
// parity). Checked in this order: magic, length of the header (ErrTruncated), type, version, size, CRC, root.
//
// In the root: counts whose elements cannot all fit in the bytes left, and keys without NUL, are ErrCorrupt, at
// the offset of the count or key. No memory is taken that the bytes in hand do not account for. A key that
// is twice in a node is accepted: both trees are joined, and stand where the later stood. So are bytes after the
// root, and a file of no bytes, which is an empty tree. Options.Strict makes errors of these, and
// Decode and ReadFileRecord tell. More levels or elements than Options allow are ErrTooLarge.
//
// # Values as text
//
//	Int, Int64, Bytes, Uint64  decimal. Read: Int decimal; the others also 0x... and, after a 0, octal
//	CRC32                      0x and hexadecimal digits without leading zeros, but 0 for zero
//	Double                     six decimals, as %f of C
//
// Unlike the reference, which reads as far as there are digits, text that is not a number, or does not fit, is an error.
package kvtree
