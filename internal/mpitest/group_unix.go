//go:build unix

package mpitest

import (
	"os/exec"
	"syscall"
)

// group makes a command end with all of its processes.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
