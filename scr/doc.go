// Package scr takes checkpoints on several levels, as the Scalable Checkpoint/Restart library does: files are written
// into a cache on the nodes, protected there against the loss of nodes, and copied to the parallel file system now and
// then. After a failure the next run finds what is left, rebuilds what was lost, and restarts from the newest
// checkpoint that is whole.
//
//	s, err := scr.Open(ctx, c, nil)                 // on every rank
//	if r, ok, err := s.HaveRestart(ctx); ok {
//		s.StartRestart(ctx)
//		name, err := s.Route("state/rank0.dat")     // read it there
//		err = s.CompleteRestart(ctx, good)
//	}
//	for !done {
//		...
//		if need, err := s.NeedCheckpoint(ctx); need {
//			err = s.Start(ctx, "step10", scr.Checkpoint)
//			name, err := s.Route("state/rank0.dat") // write it there
//			err = s.Complete(ctx, good)
//		}
//		if stop, why, err := s.ShouldExit(ctx); stop { break }
//	}
//	err = s.Close(ctx)
//
// All calls but Route, Files and Owner are collective: all ranks make the same ones in the same order, and all get an
// error if one does. Nothing here ends the process, and there are no globals: a process may have any number of
// sessions.
//
// # States
//
//	call                                            idle   writing  restoring  closed
//	NeedCheckpoint, ShouldExit, HaveRestart,        yes    error    error      error
//	Current, Drop, Delete, Flush
//	Start                                           -> writing
//	Complete                                        error  -> idle  error      error
//	StartRestart                                    -> restoring
//	CompleteRestart                                 error  error    -> idle    error
//	Route                                           the name is returned unchanged; while writing or restoring, where the file is
//	Close                                           -> closed, from any state
//
// A call at the wrong time is a *StateError and changes nothing.
//
// # Where files are
//
//	<SCR_CNTL_BASE>/<user>/scr.<job>/cindex.scrinfo         what this node has (package cachedir)
//	<store>/<user>/scr.<job>/scr.dataset.<id>/<file>        the files of the application
//	<store>/<user>/scr.<job>/scr.dataset.<id>/.scr/...      file maps and redundancy (packages cachedir, redset)
//	<prefix>/<path of the application>                      when they were flushed
//	<prefix>/.scr/...                                       index and metadata (package prefixdir)
//
// The formats are those of SCR 3 (generation C); real caches and prefix directories of that version are gone on with.
// What is more than SCR 3 writes stands in keys and files that it does not look at: checksums.
//
// # What holds after a crash
//
// A dataset counts when every rank has completed it, its redundancy is on the disks, and the catalogue of a node says
// COMPLETE: before that a restart deletes it, after that it is there on all nodes. In the prefix directory the entry of
// the index is the last thing written. A restart never uses anything that it did not verify: CRC-32 of each file and of
// all redundancy, and of the trees that describe them.
//
//	order of a checkpoint                    a crash before it leaves
//	Start: oldest dataset deleted            all as it was (output is flushed before)
//	       catalogue: dataset, not complete  the one deleted is gone
//	       its folder                        a name without a folder; deleted at restart
//	Route: file map, before the file is      what is in no map does not exist
//	Complete: sizes agreed upon              an incomplete dataset; deleted at restart
//	       redundancy of files, of maps
//	       catalogues: COMPLETE              some nodes may say so: then it is complete, for redundancy was
//	       flush file                        commands outside do not know of it; the next run does
//	Flush: index: dataset, not complete      it is still in the caches
//	       those whose files it takes over:  they are not complete; it is still in the caches
//	       not complete (bypass: in Route)
//	       files, each whole under its name
//	       map, summary
//	       index: COMPLETE, CURRENT          the dataset is in the prefix directory
//
// # Restart
//
// Open merges the catalogues of all nodes. For each dataset, newest first, the files are brought to where their ranks
// are now, file maps and files are checked and rebuilt (package redset), and copies left on other nodes deleted. A
// dataset that cannot be rebuilt is not offered; it is deleted when the run goes on from an older one, or for want of
// room. HaveRestart offers the newest
// checkpoint that is whole, in the caches or, by the index, in the prefix directory, from where it is fetched; what is
// damaged is marked FAILED and passed over. A checkpoint of another number of ranks is read in place (Restart.InPlace):
// Files and Owner tell which rank wrote what, and any rank may Route any file.
//
// # Differences from the original
//
//   - Misuse is an error, not the end of the job; so is a path outside of the prefix directory.
//   - A scheme that cannot be had, because there are too few nodes, is said aloud (Config.Strict: refused).
//   - Checksums are always made and always checked.
//   - Files of equal base names are kept apart in the cache.
//   - Files of output are not overwritten by other datasets, and of checkpoints not without a word (ErrExist, Route).
//   - Directories of other users are refused (docs/security.md).
//   - The index is replaced atomically, and made again from the summaries when it is lost.
//   - A flush in the background needs no calls to make progress.
//
// The developer guide of SCR describes the original; internal/rooms/promises.txt has its capabilities with the tests that show them.
package scr
