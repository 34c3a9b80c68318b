// Package cello reads and writes checkpoint directories of Cello (Enzo-E). A directory
// holds an AMR tree as HDF5 files, each with a list of its blocks. The blocks are divided
// among the files along a space-filling curve.
//
//	Open, OpenComm      read lists and headers; then read any Block or Field
//	Write, WriteFrom    collective: write blocks of any ranks into a new directory
//	Restart             runs the restart protocol, phase by phase, on any number of ranks
//	Verify              finds all faults and their effects on Enzo-E
//	Checkpoint.Unfit    lists the fields that prevent a restart of Enzo-E
//	WriteYT             writes the form that yt reads
//
// A directory is absent or whole at any time, because it is written under another name,
// synced and renamed. Besides Enzo-E's files it has blobio.manifest, with checksums and
// costs, which other programs ignore. Data that do not match the manifest are
// ErrChecksum. Directories of Enzo-E have no manifest, so Verify can only check the
// structure and look for implausible values.
//
// Rank floor(f*ranks/files) writes file f. A writing rank holds at most Options.Memory
// bytes of blocks of other processes.
//
// docs/format-cello.md describes the format byte by byte, with sources.
package cello

// Layout of an HDF5 file that this package writes:
//
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//	| superblock | root    | group  | group  | ... | gap  | data of | data of | ...
//	|            | group   | of     | of     |     | to   | block 0 | block 1 |
//	|            |         | block 0| block 1|     | 4096 |         |         |
//	+------------+---------+--------+--------+-----+------+---------+---------+-----
//
// The data of a block are its datasets, one after the other, each at a multiple of 8
// bytes. Blocks of ranks of the writer's process are not copied. Other blocks arrive in
// rounds; every rank computes the rounds from the same plan.
//
// Counters of a restart:
//
//	phase            counted by the reader of a file     then, over all files
//	startup                                              readers = files
//	level 0, create  blocks up to level 0                full files = files
//	level 0, init    the same, with their data           full files = files
//	level k, create  blocks of level k                   full files = files
//	level k, init    the same, with their data           full files = files
//	cleanup
//
// If a file has no blocks of a level, the file is full at once.
//
// Read first: checkpoint.go, plan.go, filewriter.go.
