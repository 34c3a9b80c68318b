//go:build unix

package main

import (
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/internal/crashtest"
	"blobio/internal/mpitest"
)

// TestKilled: the program is killed again and again, by late errors too, and the same command goes on and ends right. Few times, unless
// BLOBIO_LONG is set. When it is killed is left to chance: what counts is the end.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "amr-waves")
	if out, err := exec.Command("go", "build", "-o", prog, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rng := rand.New(rand.NewSource(3))
	killed := 0
	rounds := 2
	if crashtest.Long() {
		rounds = 60
	}
	for round := range rounds {
		store := filepath.Join(dir, strconv.Itoa(round))
		mode := modes[rng.Intn(len(modes))]
		args := []string{"-mode", mode, "-dir", store, "-steps", "8", "-cadence", []string{"1,1,1", "1,0,0", "1,2,4", "2,1,1"}[rng.Intn(4)]}
		for range 1 + rng.Intn(4) {
			cmd := exec.Command(prog, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rng.Int63n(int64(600 * time.Millisecond))))
			_ = cmd.Process.Kill()
			var ee *exec.ExitError
			if err := cmd.Wait(); errors.As(err, &ee) && ee.ExitCode() < 0 {
				killed++
			} else if err != nil {
				t.Fatalf("round %d, %v: not killed: %v", round, args, err)
			}
		}
		if out, err := exec.Command(prog, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "that of the undisturbed run") {
			t.Fatalf("round %d, %v, %d kills: %v\n%s", round, args, killed, err, out)
		}
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills", killed)
}

// TestUnderMPI: processes, of which a store in a directory and one in their memory are read by all; and a job of another number of processes that goes on.
func TestUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	dir := t.TempDir()
	prog := filepath.Join(dir, "amr-waves")
	cmd := exec.Command("go", "build", "-tags", "mpi", "-o", prog, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no MPI to build with: %v\n%s", err, out)
	}
	if crashtest.Long() {
		out, err := mpitest.Run(t, 2, 5*time.Minute, nil, prog)
		if err != nil || strings.Count(out, "that of the undisturbed run") != len(modes) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for i, ranks := range []int{2, 3} { // the second job goes on from the end of the first
		out, err := mpitest.Run(t, ranks, 5*time.Minute, nil, prog, "-mode", "late", "-dir", dir, "-steps", strconv.Itoa(5+2*i))
		if err != nil || !strings.Contains(out, "that of the undisturbed run") {
			t.Fatalf("job of %d: %v\n%s", ranks, err, out)
		}
	}
}
