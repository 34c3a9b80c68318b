//go:build !linux

package durable

// procOf returns "". Only Linux can tell a process from a later one with the same number without a system-specific call.
func procOf(int) string { return "" }

func procSpace() string { return "" }
