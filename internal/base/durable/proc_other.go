//go:build !linux

package durable

// procOf is "": only Linux tells one process from a later one of its number without a call for each system.
func procOf(int) string { return "" }

func procSpace() string { return "" }
