//go:build !linux

package mpitest

// processes cannot be told here.
func processes(int) []int { return nil }
