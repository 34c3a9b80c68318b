//go:build !linux

package durable

// procOf is "": only Linux distinguishes a process from a later one with the same number without a call for each system.
func procOf(int) string { return "" }

func procSpace() string { return "" }
