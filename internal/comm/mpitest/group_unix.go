//go:build unix

package mpitest

import (
	"errors"
	"os/exec"
	"syscall"
)

// session makes a command, and with it all that it starts, a session of its own, which ends as a whole. Launchers give each
// rank a process group of its own: killing the launcher's group reaches none of them.
func session(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for _, id := range processes(cmd.Process.Pid) {
			err = errors.Join(err, syscall.Kill(id, syscall.SIGKILL))
		}
		return err
	}
}
