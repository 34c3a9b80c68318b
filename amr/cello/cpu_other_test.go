//go:build !linux

package cello

import "time"

// cpuTime is not measured here.
func cpuTime() (user, sys time.Duration) { return 0, 0 }
