// Package dataset holds the verbs of datasets: ls, dump, check, diff, convert, where, plot and recover.
package dataset
