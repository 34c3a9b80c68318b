package runloop

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit waits until p has exited, but does not reap p. As long as p is not reaped, no other process or group can
// get its id.
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
