//go:build !unix

package vfs

import (
	"math"
)

func openSeekable(name string, flag int) (File, error) { return open(name, flag|noFollow) }

// openLimit returns the maximum of open files of this process.
func openLimit() int { return math.MaxInt32 }
