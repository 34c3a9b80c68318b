// Package kvtree reads and writes the key/value trees of SCR.
package kvtree
