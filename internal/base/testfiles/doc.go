// Package testfiles finds files of the reference programs for tests. Most files are in testdata at the top of the module. The
// captured decomposition maps, and files written with these maps, are in the folder `shared` beside the module. This folder may
// be missing.
package testfiles
