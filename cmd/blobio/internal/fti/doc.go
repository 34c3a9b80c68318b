// Package fti holds the verbs of FTI-FF files and of stores of such files.
package fti
