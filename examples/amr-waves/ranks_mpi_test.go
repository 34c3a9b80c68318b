//go:build mpi

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/comm/mpitest"
)

// TestUnderMPI checks that all processes of a job read a store in a directory and one in memory, and that a job with another
// number of processes continues.
func TestUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	dir := t.TempDir()
	prog := filepath.Join(dir, "amr-waves")
	cmd := exec.Command("go", "build", "-tags", "mpi", "-o", prog, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if crashtest.Long() {
		out, err := mpitest.Run(t, 2, 5*time.Minute, nil, prog)
		if err != nil || strings.Count(out, "equals the undisturbed run") != len(modes) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for i, ranks := range []int{2, 3} { // the second job continues from the end of the first
		out, err := mpitest.Run(t, ranks, 5*time.Minute, nil, prog, "-mode", "late", "-dir", dir, "-steps", strconv.Itoa(5+2*i))
		if err != nil || !strings.Contains(out, "equals the undisturbed run") {
			t.Fatalf("job of %d: %v\n%s", ranks, err, out)
		}
	}
}
