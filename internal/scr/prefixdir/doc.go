// Package prefixdir reads and writes the metadata of SCR in the prefix directory,
// the folder on the parallel file system that holds the datasets of one
// simulation.
//
//	<prefix>/
//	  <dataset files, where the application wants them>
//	  .scr/
//	    index.scr     which datasets there are                     Dir.Index
//	    flush.scr     where the datasets of this allocation are    Dir.Flush
//	    halt.scr      when the run is to end                       Dir.Halt
//	    nodes.scr     nodes of the last run                        Dir.Nodes
//	    app.conf      settings of the application                  Dir.AppConf
//	    scr.dataset.<id>/                                          Dir.Datasets
//	      summary.scr         what the dataset is                  Summary
//	      rank2file, ...      which rank wrote which files         Map
//
// Files of SCR 1 to 3 are read; the form of SCR 3 is written. Keys that are not known
// stay. Files are replaced atomically, but for the halt file, which programs of the
// reference lock. A lost index is made again from the summaries (IndexFile.Load).
//
// A flush is Index.Update with Add(ds, false); the files; Datasets.WriteMap and
// WriteSummary; Index.Update with Publish(ds). A crash at any point leaves a dataset
// that is not complete in the index, or one that is and has all its files. Files
// that belong to another dataset are claimed before (Claims).
//
// docs/format-scr.md has the trees. Read first: dir.go, datasets.go, indexfile.go.
package prefixdir
