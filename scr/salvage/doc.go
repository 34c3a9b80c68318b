// Package salvage saves datasets of SCR from the caches of nodes after a run died,
// without ranks: what is left is copied to the prefix directory, what is lost is
// rebuilt there, and the dataset is listed in the index.
//
//	rep, err := salvage.Run(ctx, salvage.RunOptions{Prefix: d, Nodes: up})       // all that is worth it
//
//	c, err := salvage.Scavenge(ctx, salvage.ScavengeOptions{Node: n, Prefix: d, ID: 4})   // on each node
//	res, err := salvage.Index(ctx, salvage.Options{Prefix: d, ID: 4, Current: true})      // then once
//
// ScanDataset looks at what was copied, Rebuild mends it without listing it.
//
// # What is copied
//
//	<prefix>/<where the application wanted it>      files of the application
//	<prefix>/.scr/scr.dataset.<id>/
//	  filemap_<rank>                                 file map, as it is
//	  reddescmap.er.<rank>.*, reddesc.er.<rank>.*    redundancy files, as they are
//	  filemap_sums.<rank>                            ours: sizes and CRC-32 of what was copied of the rank
//
// File maps and redundancy files stay byte for byte what they were, as with the copy
// program of SCR 3: the redundancy of the file maps is of their bytes. Where a file
// belongs is in its record (PATH and NAME); it must be below the prefix directory.
//
// filemap_sums.<rank> is a key/value tree (package kvtree): VERSION/1, DSETDESC/<record of the
// dataset>, FILE/<path below the prefix>/{SIZE,CRC}, META/<name beside it>/{SIZE,CRC}. With
// it a byte that changes between copy and rebuild is found in datasets of the
// reference too, which have no checksums.
//
// # Order, and what a crash leaves
//
// Scavenge lists the dataset as incomplete and removes its summary; each file gets its name
// when it is whole and synced; the record of checksums and the file map of a rank are last.
// Index rebuilds, writes the map and the summary, and only then lists the dataset as
// complete. After a crash at any point the index has the dataset as complete only if
// all its files are there, and all of it may be done again.
//
// # What is checked
//
// Bytes are compared with the CRC-32 in the file map (made when the dataset was written, if
// by this library), with the checksums of package redset, and with filemap_sums.<rank>. What
// does not match counts as lost. A dataset is listed when each rank has its map, all
// files are there and match what is known, no two ranks claim the same file, and
// their number and bytes are those of the dataset's record.
package salvage
