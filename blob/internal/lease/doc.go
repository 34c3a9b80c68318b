// Package lease is the part of each process in the lease of the dataset that it writes, and what a writer may do to its files under it.
package lease
