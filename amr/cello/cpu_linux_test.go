package cello

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used.
func cpuTime() (user, sys time.Duration) {
	var u unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}
