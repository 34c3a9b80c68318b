//go:build linux && !386 && !arm

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// Variables of the environment by which the parent passes its settings to the processes that its command starts.
const (
	envAlone  = "LOCKFS_ALONE"
	envDir    = "LOCKFS_DIR"
	envMounts = "LOCKFS_MOUNTS"
	envPer    = "LOCKFS_RANKS_PER_NODE"
)

// ranksIn are where launchers put the number of a rank.
var ranksIn = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}

// child becomes a program that sees the mount of its node in the place of the directory.
func child(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want a program")
	}
	rank := 0
	for _, e := range ranksIn {
		if n, err := strconv.Atoi(os.Getenv(e)); err == nil {
			rank = n
			break
		}
	}
	per, err := strconv.Atoi(os.Getenv(envPer))
	if err != nil || per < 1 {
		return fmt.Errorf("%s is %q, want a number", envPer, os.Getenv(envPer))
	}
	prog, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	node := strconv.Itoa(rank / per)
	dir, from := os.Getenv(envDir), filepath.Join(os.Getenv(envMounts), node)
	runtime.LockOSThread() // the following calls affect the thread that becomes the program
	if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("name spaces: %w", err)
	}
	if err := syscall.Sethostname([]byte("node" + node)); err != nil { // by which MPI-IO chooses one aggregator for each node
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount(from, dir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s at %s: %w", from, dir, err)
	}
	for _, e := range []string{envAlone, envDir, envMounts, envPer} {
		os.Unsetenv(e)
	}
	return syscall.Exec(prog, args, os.Environ())
}
