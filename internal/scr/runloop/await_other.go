//go:build !linux

package runloop

import "os"

// awaitExit returns false: on this system a process cannot be awaited without reaping it. The rest
// of its group is then not looked after.
func awaitExit(*os.Process) bool { return false }
