// Package testfiles finds files of the reference programs for tests. One kind is in testdata at the top of the module. The
// captured decomposition maps, and files written with them, are in the folder `shared` beside the module, which may be missing.
package testfiles
