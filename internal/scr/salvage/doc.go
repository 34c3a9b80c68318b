// Package salvage saves datasets of SCR from the caches of nodes after a run has died. It
// needs no running ranks. It copies the remaining files to the prefix directory, rebuilds
// the lost files there, and lists the dataset in the index.
//
//	Run           all steps, for all datasets worth saving
//	Scavenge      copies one node's files of a dataset; called for each node
//	Index         rebuilds a scavenged dataset and lists it; called once, after Scavenge
//	ScanDataset   checks the copied files; Rebuild repairs them without listing the dataset
//
// Scavenge lists the dataset as incomplete and removes its summary. Each file gets its
// name when it is whole and synced. The checksums and the file map of a rank are written
// last. Index lists the dataset as complete only after files, map and summary exist.
// Therefore all steps may be repeated after a crash at any point.
//
// Bytes are compared with the CRC-32 in the file map (recorded when this library wrote the
// dataset), with the checksums of package redset, and with the checksums of the copies. A
// file that does not match is treated as lost. A dataset is listed only if each rank has
// its map, all files exist and match, and no two ranks claim the same file. The number of
// files and bytes must also match the dataset's record.
//
// docs/format-scr.md#after-a-scavenge describes the files.
//
// Read first: run.go, scan.go.
package salvage
