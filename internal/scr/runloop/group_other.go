//go:build !unix

package runloop

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// endGroup ends p; there are no groups, and no way to ask.
func endGroup(p *os.Process, _ bool) { p.Kill() }

func signalOf(*os.ProcessState) int { return 0 }

func stillOurs(*os.Process) error { return nil }
