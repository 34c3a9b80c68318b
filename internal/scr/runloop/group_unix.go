//go:build unix

package runloop

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup sends a signal to the process group that p leads. p must not have been reaped.
func endGroup(p *os.Process, hard bool) {
	sig := syscall.SIGTERM
	if hard {
		sig = syscall.SIGKILL
	}
	syscall.Kill(-p.Pid, sig) // an error means that no process is left
}

func signalOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// stillOurs returns an error if p has been reaped. After that another process may have its
// id.
func stillOurs(p *os.Process) error { return p.Signal(syscall.Signal(0)) }
