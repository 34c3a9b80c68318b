// Package fti keeps the checkpoints of a program that was written for FTI (the Fault Tolerance Interface): its configuration
// file, directories, levels and names, with files that FTI reads (package ffformat).
//
//	ParseConfig        a configuration file of FTI
//	Open, Close        collective: FTI_Init and FTI_Finalize
//	Protect            memory of a variable
//	Checkpoint         all variables at a level; Begin, Add, Finish one by one
//	Snapshot           a checkpoint when the configuration says so
//	Recover            fills the variables; ReadVar fills one
//
// # Commits
//
// A rank writes its file beside the committed one, under the name .Ckpt<id>-Rank<rank>.fti.<time>.new, and syncs it. When all ranks
// have theirs, each gives its file FTI's name and removes what the checkpoint replaces: older ones of this level and of the lower
// ones. A restart takes the newest checkpoint for which all ranks have a file under either name, or can rebuild it. All files of
// a checkpoint have the same timestamp, which no other checkpoint of the run has; so no two are mixed up, even if their ids are equal.
//
// Levels 2 and 3 are PARTNER and RS of package redset over the ranks of different nodes.
//
// Read first: session.go, write.go, publish.go, find.go.
package fti
