//go:build !unix

package runloop

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// endGroup kills p, because this system has no process groups and no
// termination signal.
func endGroup(p *os.Process, _ bool) { p.Kill() }

func signalOf(*os.ProcessState) int { return 0 }

func stillOurs(*os.Process) error { return nil }
