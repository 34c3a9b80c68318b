// Package dataset holds the verbs of datasets: ls, dump, check, diff, convert and recover.
package dataset
