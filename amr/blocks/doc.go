// Package blocks is the native form of an adaptive mesh: all blocks of a tree as
// one dataset of package blob, a row for each block. It holds what a Cello
// checkpoint holds, in fewer bytes, and netCDF tools read it: the canonical form
// is one CDF-5 file.
//
//	Write              the blocks of the ranks of a Comm, collectively
//	Convert, ToCello   any Source of blocks, in bounded memory
//	Open               a Dataset: Blocks (tables), Block, Range, Field
//	Check              findings
//
// Rows are the blocks of all levels, refined ones and those below level 0 too, in
// the order in which they were written: that of a space-filling curve, as a rule.
// Fields are variables field_NAME(block, z, y, x); particles of all blocks lie one
// after the other.
//
// A dataset appears under its name when it is whole. Each block has checksums of
// its own: a damaged one is ErrChecksum for whoever reads it, and does not keep
// anybody from the others. In the forms with blobs each variable is decomposed by
// its own dimensions, and the part of a rank is the rows of its blocks.
//
// docs/format-blocks.md has all names, attributes and checksums.
package blocks
