//go:build !unix

package runloop

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// endGroup kills p. This system has neither process groups nor a polite signal.
func endGroup(p *os.Process, _ bool) { p.Kill() }

func signalOf(*os.ProcessState) int { return 0 }

func stillOurs(*os.Process) error { return nil }
