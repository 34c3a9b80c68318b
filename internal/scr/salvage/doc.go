// Package salvage saves datasets of SCR from the caches of nodes after a run died,
// without ranks: what is left is copied to the prefix directory, what is lost is
// rebuilt there, and the dataset is listed in the index.
//
//	Run           all of it, for all datasets that are worth it
//	Scavenge      copies what one node has of a dataset; on each node
//	Index         rebuilds a scavenged dataset and lists it; then once
//	ScanDataset   looks at what was copied; Rebuild mends it without listing it
//
// Scavenge lists the dataset as incomplete and removes its summary; each file gets
// its name when it is whole and synced; the checksums and the file map of a rank
// are last. Index lists the dataset as complete only after files, map and summary
// are there. So after a crash at any point all of it may be done again.
//
// Bytes are compared with the CRC-32 in the file map (made when the dataset was
// written, if by this library), with the checksums of package redset, and with
// the checksums made when they were copied. A file that does not match counts as lost. A dataset
// is listed when each rank has its map, all files are there and match what is
// known, no two ranks claim the same file, and their number and bytes agree with
// the dataset's record.
//
// docs/format-scr.md#after-a-scavenge has the files.
//
// Read first: run.go, scan.go.
package salvage
