//go:build unix

package mpitest

import (
	"errors"
	"os/exec"
	"syscall"
)

// session starts a command in its own session, so that all its processes can be ended together. Launchers give each rank its own
// process group, so killing the launcher's group does not reach the ranks.
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
