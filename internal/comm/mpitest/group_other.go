//go:build !unix

package mpitest

import "os/exec"

func session(*exec.Cmd) {}
