//go:build unix

package server

// othersCount reports whether the mode of a file tells who may read it.
const othersCount = true
