package runloop

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit waits until p is over, and leaves it to be reaped: until then its
// id, and its group's, cannot become another process's.
func awaitExit(p *os.Process) bool {
	for {
		switch err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			return true
		case unix.EINTR:
		default:
			return false
		}
	}
}
