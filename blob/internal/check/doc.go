// Package check finds the faults of a dataset, and the differences between two
// datasets.
package check
