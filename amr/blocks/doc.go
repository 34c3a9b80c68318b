// Package blocks is the native form of an adaptive mesh: all blocks of a tree as
// one dataset of package blob, a row for each block. It holds what a Cello
// checkpoint holds, in fewer bytes, and netCDF tools read it: the canonical form
// is one CDF-5 file.
//
//	Write    the blocks of the ranks of a Comm, collectively
//	Convert  any source of blocks, in bounded memory
//	Open     Blocks (tables), Block, Range, Field: random access
//	Check    findings
//
// # The dataset
//
// Rows are the blocks of all levels, refined ones and those below level 0 too, in the order
// in which they were written: that of a space-filling curve, as a rule. n is
// their number. Global attributes:
//
//	blobio_amr                 int      1, the version of this form
//	rank                       int      dimensions of the mesh, 1 to 3
//	root_blocks, block_cells,
//	ghost_cells, periodic      int[3]   x, y, z; 1, 1, 0, 0 on axes beyond rank
//	domain_lower, _upper       double[3]
//	min_level, max_level       int      the coarsest level, the finest that is allowed
//	cycle                      int
//	time, dt, redshift         double
//	particle_types             char     names, separated by spaces
//	meta_X, metascalar_X,
//	metastrings_X              any      a further attribute X of the tree: numbers, one
//	                                    number or text, texts that end in a zero byte
//
// Variables; axis is 3, and the order of dimensions C's, the last one fastest:
//
//	block_index(block, axis)   int      the three words of Cello's index
//	block_level(block)         int      0 for root blocks, redundant
//	block_order(block)         int64    the row, redundant
//	block_parent(block)        int64    row of the parent, -1 if it is not there
//	block_leaf(block)          byte     1 if the block is not refined
//	block_cost(block)          double   for balancing, 0 is unknown
//	block_lower(block, axis),
//	block_upper(block, axis)   double   corners, redundant
//	block_cycle(block)         int
//	block_time, block_dt(block) double
//	block_crc(block)           uint     CRC-32 (IEEE) of the block's rows in all other
//	                                    variables, in their order, big endian
//	field_F(block, z, y, x)    any      a field; as many axes as rank. Attributes face_centered
//	                                    int[3], ghosts int. Axes with one element more are
//	                                    called x_face, those with ghosts x_ghost, x_face_ghost
//	particle_T_A(n_particle_T) any      attribute A of the particles T of all blocks; attributes
//	                                    particle_type, particle_attribute
//	adapt(n_adapt)             ubyte    adapt_buffers without the zeros at their ends
//	attr_X(block[, n])         any      a further attribute X that is as long in all blocks
//	attr_X(n_attr_X)           any      or is not. Attributes attribute, kind int: 0 numbers,
//	                                    1 one number or text, 2 texts that end in a zero byte
//
// What is flat is a list: L is particle_T, adapt or attr_X. The rows of a block are
// count rows from start on; blocks follow each other without gaps:
//
//	block_L_count(block)       int64    -1: the block has none of it (which is not 0)
//	block_L_start(block)       int64
//	block_adapt_size(block)    int      bytes with the zeros, -1: no adapt_buffer
//
// A list without rows has one, which is nobody's, since CDF has no empty dimensions.
//
// # Decomposition
//
// In the forms with blobs every variable is decomposed by its own dimensions; the part of a
// rank is the rows of its blocks. Variables of the same dimensions share a map.
package blocks
