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

func build(t *testing.T) (program string) {
	mpitest.Launcher(t)
	program = filepath.Join(t.TempDir(), "amr-waves")
	cmd := exec.Command("go", "build", "-tags", "mpi", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestUnderMPI checks that all processes of a job can use a store in a directory and a store in memory, and that a job with
// another number of processes continues the run.
func TestUnderMPI(t *testing.T) {
	dir, prog := t.TempDir(), build(t)
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

// TestKilledUnderMPI kills one of four processes in a step, once or twice. The next job continues from the last snapshot and ends with
// the same bytes as an undisturbed run.
func TestKilledUnderMPI(t *testing.T) {
	prog := build(t)
	ends := func(dir, at string, rank, ranks int) (string, error) {
		return mpitest.Run(t, ranks, 5*time.Minute, nil, prog, "-mode", "killed", "-dir", dir, "-cadence", "1,0,2", "-at", at, "-rank", strconv.Itoa(rank))
	}
	for i, kills := range [][]string{{"0:0:0"}, {"2:2:1"}, {"3:1:1", "5:2:3"}, {"1:2:3"}, {"4:0:0", "4:1:0"}} {
		if i > 2 && !crashtest.Long() {
			break
		}
		dir := t.TempDir()
		for _, at := range kills {
			if out, err := ends(dir, at, i%4, 4); err == nil || !strings.Contains(out, "signal 9") {
				t.Fatalf("rank %d killed at %s: %v\n%s", i%4, at, err, out)
			}
		}
		if out, err := ends(dir, "99:0:0", 0, 4-i%2); err != nil || !strings.Contains(out, "equals the undisturbed run") {
			t.Fatalf("killed at %v, continued: %v\n%s", kills, err, out)
		}
	}
}
