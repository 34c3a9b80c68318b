// Package process has the resources that the ranks of one process share while they write a dataset.
package process
