// Package stats computes minimum, maximum, mean and counts of the values of a dataset, by variable and record, in bounded memory.
package stats
