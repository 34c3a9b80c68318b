//go:build !unix

package server

// othersCount reports whether the mode of a file determines who may read it.
const othersCount = false
