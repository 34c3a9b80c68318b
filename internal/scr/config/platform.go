package config

import (
	"os"
	"runtime"
)

// linuxBase is where control and cache directories are made on Linux: a file
// system in memory that every node has.
const linuxBase = "/dev/shm"

// builtin is the default of a parameter on this system.
func builtin(p *Param) string {
	if p.Default == linuxBase && runtime.GOOS != "linux" {
		return os.TempDir()
	}
	return p.Default
}
