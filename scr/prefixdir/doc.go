// Package prefixdir reads and writes the metadata of SCR in the prefix directory, the
// folder on the parallel file system that holds the datasets of one simulation.
//
//	<prefix>/
//	  <dataset files, where the application wants them>            B C
//	  .scr/
//	    index.scr     which datasets there are                     Index
//	    flush.scr     where those of this allocation are           Flush
//	    halt.scr      when the run is to end                       cadence.Halt
//	    nodes.scr     nodes of the last run                        ReadNodes
//	    app.conf      settings of the application                  ReadAppConf
//	    scr.dataset.<id>/
//	      summary.scr         what the dataset is                  Summary
//	      rank2file           which rank wrote which files         Map
//	      rank2file.0.<rank>  ... its parts
//	  <name>/.scr/summary.scr, rank2file.scr, ...                  A (dataset folders)
//
// All files are key/value trees (package kvtree). Three generations exist (A: before
// 1.1.8, B: 1.1.8 to 2.0, C: 3); all are read, C is written. Keys that are not known stay.
// The trees are described in docs/format-scr.md.
//
// # What is safer than in the reference
//
//   - Files are replaced, not rewritten in place: a crash leaves the old or the new one.
//     The halt file is the exception, for programs of the reference lock it.
//   - An index that is lost or damaged is made again from the summaries (Dir.LoadIndex), where
//     the reference starts from scratch and counts datasets from 1 again.
//   - Numbers of datasets are never used twice: Dir.LastID looks at the folders too.
//   - Files in the map have SIZE and CRC, which the reference does not look at.
//   - Paths in the map and names in the index must stay below the prefix directory.
//
// # Order of a flush
//
// UpdateIndex with Add(ds, false); the files; WriteMap; WriteSummary; UpdateIndex with
// Add(ds, true), MarkFlushed, SetCurrent. A crash at any point leaves a dataset that is
// not complete in the index, or one that is and has all its files. Files that are there already and belong to another dataset
// are claimed before (Dir.Claims): that one is not complete any more, or the flush must not be made.
package prefixdir
