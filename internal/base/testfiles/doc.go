// Package testfiles finds the files that the reference programs wrote, for tests: those in testdata at the top of
// the module, and the captured decomposition maps and what was written with them, which lie in the folder `shared`
// beside the module and are not everywhere.
package testfiles
