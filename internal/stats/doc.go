// Package stats sums up the values of a dataset, by variable and record, in bounded memory.
package stats
