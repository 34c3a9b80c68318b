// Package amr holds block-structured adaptive meshes in memory, in the terms of
// Cello: an array of octrees (quadtrees, binary trees) of equal blocks.
//
//	index   Index, names of blocks both ways
//	shape   Geometry, FieldSpec, ParticleSpec, Meta
//	data    Block, Field, Particles
//	tree    Tree: which blocks exist, their neighbours, what is wrong with them
//	order   Ordering: Morton, Hilbert, RootBlocks; Cut into parts, Quality
//
// # Words
//
// A root block is the top of one octree and has level 0. Its children have
// level 1. Above the root blocks there are levels below 0: a block of level -1
// holds 2 root blocks per axis, and so on, up to one block for all. A leaf has
// no children. Blocks of all levels, also those that are no leaves, have data.
//
// # Index
//
// An Index is three words of 32 bits, one per axis, little endian on disk:
//
//	bit   31            12 11         2 1   0
//	     +----------------+------------+-----+
//	     | tree (20)      | array (10) | lev |
//	     +----------------+------------+-----+
//
//	array   number of the octree on the axis; for level -k the coordinate of the
//	        block shifted up by k: k low zeros
//	tree    child bits, coarsest first: that of level 1 is bit 31, of level k bit
//	        32-k; those below the level are zero
//	lev     of x: bits 0 and 1 of the level's magnitude; of y: bits 2 and 3; of
//	        z: its upper bit is bit 4, its lower bit the sign (1 is negative)
//
// So there are at most 1024 root blocks per axis and 20 levels below them. Axes
// beyond the rank have level bits only. Examples with 4 root blocks per axis:
//
//	B00_00_00               0, 0, 0
//	B01_10_11               4, 8, 12
//	B01:1_10:0_11:1         -2147483643, 8, -2147483636
//	B0_1_1        level -1  1, 8, 9
//	B__           level -2  2, 0, 1
//
// # Name
//
//	"B" axis ["_" axis ["_" axis]]        an axis for each dimension
//	axis = array digits [":" child bits]  the colon and bits only if level > 0
//
// The array digits are binary, most significant first, as many as the number of
// blocks on the axis at this level needs: of (roots >> -level) - 1, or none if
// that is 0, or one if it is -1. One root block is "B__" (in three dimensions), and so is the
// coarsest block of any domain: a name says its block only together with level
// and number of root blocks. Where the latter is no power of two, names of
// several blocks of a level below 0 are equal (3 root blocks: both blocks of
// level -1 are called "B__"); ParseName then fails with ErrAmbiguous.
//
// # Data
//
// Elements of fields and particles are bytes in the order of the host, x
// fastest.
package amr
