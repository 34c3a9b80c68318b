// Package cello reads and writes checkpoint directories of Cello (Enzo-E): an AMR
// tree as HDF5 files, each with a list of its blocks, blocks divided among files
// along a space-filling curve.
//
//	Open, OpenComm      lists and headers; then any Block or Field by itself
//	Write, WriteFrom    collective: blocks of any ranks into a new directory
//	Restart             the restart protocol, phase by phase, on any number of ranks
//	Verify              all that is wrong, and what the original would do with it
//	Checkpoint.Unfit    the fields that keep the original from restarting
//	WriteYT             for yt
//
// A directory is absent or whole at any time: it is written under another name,
// synced and renamed. Besides the files of the original it has blobio.manifest,
// with checksums and costs, which other programs ignore. Data that do not match it
// are ErrChecksum. Directories of the original have none; there only structure and
// implausible values can be checked (Verify).
//
// Memory is bounded: file f is written by rank floor(f*ranks/files), whoever owns
// its blocks, and a writer holds at most Options.Memory of the blocks of other
// processes.
//
// docs/format-cello.md has all byte-level facts, and where they come from.
package cello

// An HDF5 file as it is written here:
//
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//	| superblock | root    | group  | group  | ... | gap  | data of | data of | ...
//	|            | group   | of     | of     |     | to   | block 0 | block 1 |
//	|            |         | block 0| block 1|     | 4096 |         |         |
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//
// The data of a block are its datasets, one after the other, each at a multiple of
// 8 bytes. Blocks of ranks of the writer's process are taken from where they are;
// other blocks come in rounds that every rank computes from the same plan.
//
// A restart counts:
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
//
// Read first: checkpoint.go, plan.go, filewriter.go.
