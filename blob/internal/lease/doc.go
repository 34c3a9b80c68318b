// Package lease manages a process's lease of the dataset that it writes, and file changes that require the lease.
package lease
