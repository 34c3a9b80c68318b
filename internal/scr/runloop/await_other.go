//go:build !linux

package runloop

import "os"

// awaitExit returns false, because this system cannot wait for a process without reaping it. Then the other processes of its
// group are not ended.
func awaitExit(*os.Process) bool { return false }
