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
//	unverified                 int      1: made from data that were not compared with their
//	                                    checksums; absent otherwise
//	meta_X, metascalar_X,
//	metastrings_X              any      a further attribute X of the tree: numbers, one
//	                                    number or text, texts that end in a zero byte
//	blobio_amr_crc             uint     CRC-32 (IEEE) of these attributes and of the variables
//	                                    as they are described here, see below
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
//	block_table_crc(block)     uint     CRC-32 (IEEE) of the block's rows in the tables, which are
//	                                    the variables before it, in their order, big endian
//	block_crc(block)           uint     the same of all variables before it; the last one. What
//	                                    others add behind it is not looked at
//	field_F(block, z, y, x)    any      a field; as many axes as rank. Attributes face_centered
//	                                    int[3], ghosts int, scrambled int 1 if the cells are in
//	                                    the wrong places (absent otherwise). Axes with one element more are
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
// # Checksums
//
// Whoever reads a block whole compares it with block_crc, whoever reads its rows in the tables
// alone with block_table_crc, and Open the description of the mesh with blobio_amr_crc; a damaged
// block does not keep anybody from the others. blobio_amr_crc is the CRC-32 of
//
//	for each global attribute of the list above that is there, by name:
//	  name, a zero byte, its type as CDF-5 numbers it (a byte), its values
//	for each variable up to block_crc, in their order:
//	  name, a zero byte, type, the lengths of its dimensions (8 bytes each);
//	  its attributes of those named here but long_name, as above
//
// all big endian. So other attributes, such as history, may be added. Files without one of
// the three are as good, but nothing tells whether they are as they were written.
//
// # Decomposition
//
// In the forms with blobs every variable is decomposed by its own dimensions; the part of a
// rank is the rows of its blocks. Variables of the same dimensions share a map.
package blocks
