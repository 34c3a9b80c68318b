// Package fti keeps the checkpoints of a program that was written for FTI (the Fault Tolerance Interface): its configuration
// file, directories, levels and names, with files that FTI reads (package ffformat).
//
//	ParseConfig        reads a configuration file of FTI
//	Open, Close        collective: FTI_Init and FTI_Finalize
//	Protect            registers the memory of a variable
//	Checkpoint         writes all variables at a level; Begin, Add and Finish write them one by one
//	Snapshot           takes a checkpoint when the configuration asks for one
//	Recover            fills the variables of a rank; ReadVar fills one
//
// # Commits
//
// A rank writes its file beside the committed one, under the name .Ckpt<id>-Rank<rank>.fti.<time>.new, and syncs it. When the
// files of all ranks are complete, each rank renames its file to FTI's name and removes older checkpoints of this level and of
// lower levels. A restart takes the newest checkpoint for which all ranks have a sound file under either name, or can rebuild it. All
// files of a checkpoint have the same timestamp, and no two checkpoints of a run share one. So a restart never mixes two
// checkpoints, even if their ids are equal.
//
// # Levels 2 and 3
//
// Each rank has a second file, by which FTI and this package rebuild lost files. A group has one rank of each of group_size nodes.
// At level 2, Pcof<rank> is a copy of the file of the group's rank before this one. At level 3, RSed<rank> is parity of all files
// of the group (package gf16). Files of FTI's POSIX mode are rebuilt as well.
//
// Read first: session.go, write.go, publish.go, find.go, redundancy.go.
package fti
