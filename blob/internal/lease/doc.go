// Package lease manages the lease of the dataset that a process writes, and the changes to files that require it.
package lease
