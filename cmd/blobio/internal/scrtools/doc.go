// Package scrtools holds the verbs of SCR: prefix directories, caches, allocations. Read first: scr.go, prefix.go, index.go.
package scrtools
