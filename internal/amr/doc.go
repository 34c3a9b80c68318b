// Package amr holds block-structured adaptive meshes in memory, in the terms of
// Cello: an array of octrees (quadtrees, binary trees) of equal blocks.
//
//	Geometry, FieldSpec, Meta     the common description of all blocks
//	Index, At, Root, ParseName    the index and name of a block
//	Tree                          the set of blocks: Refine, Balance, Faces
//	Block, Field, Particles       data
//	Morton, Hilbert, RootBlocks   orderings; Quality measures a division into parts
//
// A root block is the top of one octree and has level 0. Its children have level
// 1, and half its size. Levels below 0 are coarser than the root blocks: a block of level -1 holds 2 root blocks per axis, and so
// on, up to one block for the whole domain. A leaf has no children. All blocks have data, not only leaves. There are at most 1024
// root blocks per axis and 20 levels below them.
//
// Elements of fields and particles are stored as bytes in the byte order of the host; in fields x is fastest.
//
// docs/amr-index.md describes the bits of an Index, names and orders.
//
// Read first: index.go, tree.go, block.go.
package amr
