// Package check looks for everything that is wrong with what SCR left: a prefix directory, or the caches of nodes.
//
//	for f := range check.Prefix(ctx, "/p/sim", nil) {
//		fmt.Println(f)
//	}
//
// Of a prefix directory: the index, the summary and the map of each dataset, and that each file is there, has its size and
// matches its CRC-32, where the map has one (SCR 3 writes none; then only the sum of the sizes is known).
//
// Of caches: catalogue, file maps, files, and the redundancy files with their payload. Files without checksums are compared with
// their redundancy, if all nodes are looked at together.
//
// Nothing is changed. Each finding is yielded when it is known; those about the bytes of files come last, in the order of the files.
//
// Read first: run.go, prefix.go.
package check
