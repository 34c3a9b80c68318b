// Package scrtools holds the verbs of SCR: prefix directories, caches, allocations.
package scrtools
