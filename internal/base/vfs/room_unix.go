//go:build unix

package vfs

import (
	"math"
	"syscall"
)

// openLimit is how many files this process may have open. Package os has raised it to the hard limit.
func openLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 256 // what any system has
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
