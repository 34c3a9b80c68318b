// Package process holds what the ranks of one process share while they write a dataset.
package process
