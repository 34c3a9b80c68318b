//go:build !linux

package runloop

import "os"

// awaitExit returns false: this system cannot await a process without reaping it. The remaining processes of its group are then
// not ended.
func awaitExit(*os.Process) bool { return false }
