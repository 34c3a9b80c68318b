// Package scr takes multilevel checkpoints, as the Scalable Checkpoint/Restart library does. The application writes files to a
// cache on the nodes. There the package protects them against the loss of nodes. From time to time it copies them to the
// parallel file system. After a failure the next run finds the remaining files, rebuilds the lost ones, and restarts from the
// newest whole checkpoint.
//
//	Open, Close                                  a Session on each rank
//	NeedCheckpoint, Start, Route, Complete       writing: Route returns the path
//	HaveRestart, StartRestart, CompleteRestart   reading after a failure
//	Flush, WaitFlush, Drop, Delete               operations on a dataset by name
//	ShouldExit                                   whether the run should end
//
// All calls except Route, Files, Owner, Notes and Params are collective: all ranks make the same calls in the same order, and
// if one rank gets an error, all ranks get an error. A call at the wrong time fails with ErrState and changes nothing. The
// package never ends the process. It uses the parameters of SCR (LoadParams).
//
// A dataset is complete when every rank has completed it and its redundancy is on disk. In the prefix directory
// the index entry is written last. A restart verifies the CRC-32 of each file, of all redundancy, and of the
// trees that describe them. Files have the form of SCR 3, with additional keys and files that SCR ignores.
//
// docs/guide-scr.md is the guide and lists differences from SCR. docs/format-scr.md and
// docs/format-redset.md describe the files.
//
// Read first: session.go, dataset.go, flush.go.
package scr

// The steps of a checkpoint, and the state after a crash. The index entry in the prefix directory is written last.
//
//	steps of a checkpoint                    state after a crash before the step
//	Start: oldest dataset deleted            unchanged (output is flushed before)
//	       catalogue: dataset, incomplete    the oldest dataset is deleted
//	       its folder                        an entry without a folder; deleted at restart
//	Route: bypass: file map, before the file  as before; hidden files are removed by the maps
//	Complete: ranks agree on sizes           an incomplete dataset; deleted at restart
//	       bypass: map, summary: RENAMES     as before; the next run removes the map
//	       datasets that lose files to it:   the next run continues from here
//	       incomplete; files renamed
//	       redundancy of files, of maps
//	       catalogues: COMPLETE              some nodes may have it: the dataset is complete, as redundancy exists
//	       flush file; bypass: after the      commands outside do not know the dataset (bypass: they continue
//	       index                              from RENAMES); the next run does
//	Flush: index: dataset, incomplete        the dataset is still in the caches (bypass: only the last step)
//	       datasets that lose files to it:   they are incomplete; the new one is still in the caches
//	       incomplete
//	       files, each renamed when whole
//	       map, summary
//	       index: COMPLETE, CURRENT          the dataset is in the prefix directory (bypass: index, then summary)
//
// Restart: Open merges the catalogues of all nodes. For each dataset, newest first, it moves the files to the current nodes of
// their ranks. It checks and rebuilds file maps and files (package redset), and deletes copies left on other nodes. A dataset
// that cannot be rebuilt is not offered. It is deleted when the run continues from an older dataset, or to make room.
