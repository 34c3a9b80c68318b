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
)

// A restart loop: the program is killed again and again in its first second, and each time the same command goes on and ends right. When it is killed
// is left to chance: what counts is the end. It takes long: BLOBIO_LONG=1, and BLOBIO_KILLS says for how many rounds (default 50).
func TestKilled(t *testing.T) {
	if os.Getenv("BLOBIO_LONG") == "" {
		t.Skip("takes long: set BLOBIO_LONG=1")
	}
	kills := 50
	if n, err := strconv.Atoi(os.Getenv("BLOBIO_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "amr-advection")
	if out, err := exec.Command("go", "build", "-o", prog, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rng := rand.New(rand.NewSource(1))
	killed, begun, fresh := 0, 0, 0
	for round := range kills {
		store := filepath.Join(dir, "store"+strconv.Itoa(round))
		args := []string{"-mode", "data", "-dir", store, "-steps", "6"}
		for range 1 + rng.Intn(3) { // the run that goes on is killed too
			cmd := exec.Command(prog, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rng.Int63n(int64(time.Second >> rng.Intn(5)))))
			_ = cmd.Process.Kill()
			var ee *exec.ExitError
			if err := cmd.Wait(); err == nil {
				continue // it was at its end
			} else if !errors.As(err, &ee) || ee.ExitCode() >= 0 {
				t.Fatalf("round %d: not killed: %v", round, err)
			}
			killed++
			if snaps, _ := filepath.Glob(filepath.Join(store, "data", "phi.global", "*.fti")); len(snaps) > 0 {
				begun++
			} else if _, err := os.Stat(filepath.Join(store, "data")); err == nil {
				fresh++
			}
		}
		if out, err := exec.Command(prog, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "that of the undisturbed run") {
			t.Fatalf("round %d, after %d kills: %v\n%s", round, killed, err, out)
		}
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d between the first write and the first snapshot, %d after that", killed, fresh, begun)
}
