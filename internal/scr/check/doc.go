// Package check finds all faults in the files of SCR: in a prefix directory, or in the caches of nodes.
//
//	for f := range check.Prefix(ctx, "/p/sim", nil) {
//		fmt.Println(f)
//	}
//
// In a prefix directory the package checks the index, and the summary and the map of each dataset. It also checks that each file
// exists and has the size and the CRC-32 that the map records. Maps of SCR 3 record neither sizes nor checksums. Then only the total
// size of the dataset is checked.
//
// In caches the package checks the catalogue, the file maps, the files, and the redundancy files with their payload. If all nodes are
// checked together, it compares files that have no checksums with their redundancy.
//
// A check changes nothing. It yields each finding as soon as it is known. Findings about the bytes of files come last, in file order.
//
// Read first: run.go, prefix.go.
package check
