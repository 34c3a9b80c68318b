// Package check finds all faults in the files of SCR: in a prefix directory, or in the caches of nodes.
//
//	for f := range check.Prefix(ctx, "/p/sim", nil) {
//		fmt.Println(f)
//	}
//
// In a prefix directory it checks the index, and the summary and map of each dataset. It also checks that each file exists and has
// the size and CRC-32 in the map. SCR 3 writes neither; then only the sum of the sizes is known.
//
// In caches it checks the catalogue, file maps, files, and the redundancy files with their payload. It compares files without
// checksums with their redundancy, if all nodes are checked together.
//
// A check changes nothing. It yields each finding as soon as it is known. Findings about the bytes of files come last, in file order.
//
// Read first: run.go, prefix.go.
package check
