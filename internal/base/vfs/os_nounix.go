//go:build !unix

package vfs

import (
	"math"
)

func openSeekable(name string, flag int) (File, error) { return open(name, flag|noFollow) }

// openLimit is how many files this process may have open.
func openLimit() int { return math.MaxInt32 }
