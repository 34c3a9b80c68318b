// Package prefixdir reads and writes the metadata of SCR in the prefix directory,
// the folder on the parallel file system that holds the datasets of one
// simulation.
//
//	<prefix>/
//	  <dataset files, where the application wants them>
//	  .scr/
//	    index.scr     the list of datasets                         Dir.Index
//	    flush.scr     locations of this allocation's datasets      Dir.Flush
//	    halt.scr      conditions that end the run                  Dir.Halt
//	    nodes.scr     number of nodes of the last run              Dir.Nodes
//	    app.conf      settings of the application                  Dir.AppConf
//	    scr.dataset.<id>/                                          Dir.Datasets
//	      summary.scr         record and state of the dataset      Summary
//	      rank2file, ...      which rank wrote which files         Map
//
// The package reads files of SCR 1 to 3 and writes the form of SCR 3. It keeps unknown
// keys. It replaces files atomically, except the halt file: that file is changed in place,
// because the programs of the original SCR lock it. The package rebuilds a lost index from
// the summaries (IndexFile.Load).
//
// A flush calls Index.Update with Add(ds, false), writes the files, calls Datasets.WriteMap
// and WriteSummary, and ends with Index.Update and Publish(ds). After a crash at any point
// the index lists the dataset as incomplete, or as complete with all its files. Before a
// flush writes files that belong to another dataset, it must claim them (Claims).
//
// docs/format-scr.md describes the trees. Read first: dir.go, datasets.go, indexfile.go.
package prefixdir
