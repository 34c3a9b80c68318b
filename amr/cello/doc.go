// Package cello reads and writes checkpoint directories of Cello (Enzo-E): an
// AMR tree as F HDF5 files, each with a list of its blocks, blocks divided
// among files along a space-filling curve.
//
//	check.file_list           F and the names of the files
//	block_data-0.block_list   name and level of each block
//	block_data-0.h5           "/" with attributes, a group per block with attributes,
//	                          datasets field_<name> and particle_<type>_<attribute>
//	blobio.manifest           checksums and costs; of this package, others ignore it
//
//	Write, WriteFrom    collective: blocks of any ranks into a new directory, atomically
//	Open, OpenComm      lists and headers; then any block or field by itself
//	Restart             the restart protocol, phase by phase, on any number of ranks
//	Verify              all that is wrong, and what the original would do with it
//	Checkpoint.Unfit    the fields that keep the original from restarting
//	WriteYT             for yt
//	DirName             names of directories by pattern
//	DecodeAdapt, Synthesize   the attribute adapt_buffer
//
// The layout of an HDF5 file as it is written here:
//
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//	| superblock | root    | group  | group  | ... | gap  | data of | data of | ...
//	|            | group   | of     | of     |     | to   | block 0 | block 1 |
//	|            |         | block 0| block 1|     | 4096 |         |         |
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//
// and the data of a block are its datasets, one after the other, each at a
// multiple of 8 bytes. All byte-level facts, and where they come from, are in docs/format-cello.md.
//
// # Who writes
//
// File f is written by rank floor(f*ranks/files), whoever owns its blocks. Blocks of
// ranks of the same process are taken from where they are; those of others come in rounds
// that every rank works out from the same plan, so that a writer never holds more than
// Options.Memory of them.
//
// # Restart
//
//	phase            counted by the reader of a file     then, over all files
//	startup                                              readers = files
//	level 0, create  blocks up to level 0                full files = files
//	level 0, init    the same, with their data           full files = files
//	level k, create  blocks of level k                   full files = files
//	level k, init    the same, with their data           full files = files
//	cleanup
//
// A file that has no blocks of a level is full at once.
package cello
