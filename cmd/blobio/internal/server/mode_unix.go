//go:build unix

package server

// othersCount reports whether file modes restrict who may read a file.
const othersCount = true
