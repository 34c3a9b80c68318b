// Package scr takes checkpoints on several levels, as the Scalable
// Checkpoint/Restart library does: files are written into a cache on the nodes,
// protected there against the loss of nodes, and copied to the parallel file
// system now and then. After a failure the next run finds what is left, rebuilds
// what was lost, and restarts from the newest checkpoint that is whole.
//
//	Open, Close                                  a Session on each rank
//	NeedCheckpoint, Start, Route, Complete       writing: Route returns where
//	HaveRestart, StartRestart, CompleteRestart   reading after a failure
//	Flush, WaitFlush, Drop, Delete               a dataset by its name
//	ShouldExit                                   whether the run is to end
//
// All calls but Route, Files, Owner, Notes and Params are collective: all ranks
// make the same ones in the same order, and all get an error if one does. A call
// at the wrong time fails with ErrState and changes nothing. Nothing here ends the
// process. Parameters are SCR's (LoadParams).
//
// A dataset counts when every rank has completed it and its redundancy is on the
// disks; in the prefix directory the entry of the index is written last. A restart
// uses only what it has verified: CRC-32 of each file, of all redundancy, and of
// the trees that describe them. Files have the form of SCR 3, with keys and files of
// our own that it ignores.
//
// docs/guide-scr.md is the guide and says what differs from SCR;
// docs/format-scr.md and docs/format-redset.md have the files.
//
// Read first: session.go, dataset.go, flush.go.
package scr

// The state after a crash. In the prefix directory the entry of the index is the last
// thing written.
//
//	order of a checkpoint                    a crash before it leaves
//	Start: oldest dataset deleted            all as it was (output is flushed before)
//	       catalogue: dataset, not complete  the one deleted is gone
//	       its folder                        a name without a folder; deleted at restart
//	Route: file map, before the file is      what is in no map does not exist
//	Complete: sizes agreed upon              an incomplete dataset; deleted at restart
//	       bypass: map, summary: RENAMES     as before
//	       those whose files it takes over:  the next run goes on from here
//	       not complete; files renamed
//	       redundancy of files, of maps
//	       catalogues: COMPLETE              some nodes may say so: then it is complete, for redundancy was
//	       flush file                        commands outside do not know of it; the next run does
//	Flush: index: dataset, not complete      it is still in the caches
//	       those whose files it takes over:  they are not complete; it is still in the caches
//	       not complete
//	       files, each whole under its name
//	       map, summary
//	       index: COMPLETE, CURRENT          the dataset is in the prefix directory (bypass: index before summary)
//
// Restart: Open merges the catalogues of all nodes. For each dataset, newest first,
// the files are brought to where their ranks are now, file maps and files are
// checked and rebuilt (package redset), and copies left on other nodes deleted. A
// dataset that cannot be rebuilt is not offered; it is deleted when the run goes on
// from an older one, or for want of room.
