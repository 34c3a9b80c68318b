//go:build !linux

package mpitest

// processes returns none: they are unknown here.
func processes(int) []int { return nil }
