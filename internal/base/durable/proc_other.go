//go:build !linux

package durable

// procOf returns "". Systems other than Linux need special system calls to distinguish a process from a later process
// with the same number.
func procOf(int) string { return "" }

func procSpace() string { return "" }
