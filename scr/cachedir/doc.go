// Package cachedir reads and writes what SCR keeps on a node: which datasets are in
// its caches, and which files of which ranks.
package cachedir
