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

	"blobio/internal/base/crashtest"
)

// TestKilled kills the program repeatedly at random times. Some runs also have a late error. The same command continues each
// time, and ends with the right result. Without BLOBIO_LONG the test kills only a few times.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	prog, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asProgram, "1")
	rng := rand.New(rand.NewSource(3))
	killed := 0
	rounds := 1
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
		if out, err := exec.Command(prog, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "equals the undisturbed run") {
			t.Fatalf("round %d, %v, %d kills: %v\n%s", round, args, killed, err, out)
		}
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills", killed)
}
