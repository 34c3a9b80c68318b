//go:build linux

package mpitest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func shell(t *testing.T) {
	t.Helper()
	for _, name := range []string{"sh", "sleep"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
}

// TestCommandWaits: Command waits for processes that the launcher leaves behind, even if they have none of its files open.
func TestCommandWaits(t *testing.T) {
	shell(t)
	name := filepath.Join(t.TempDir(), "late")
	out, err := Command(t, time.Minute, os.Environ(), "sh", "-c", `echo begun; { sleep 0.3; : > "$0"; } >/dev/null 2>&1 & exit 3`, name)
	var x *exec.ExitError
	if !errors.As(err, &x) || x.ExitCode() != 3 || errors.Is(err, ErrHung) || out != "begun\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}

// TestCommandHangs: a job over its time limit is ended.
func TestCommandHangs(t *testing.T) {
	shell(t)
	if _, err := Command(t, 50*time.Millisecond, os.Environ(), "sh", "-c", "sleep 1000; true"); !errors.Is(err, ErrHung) {
		t.Error(err)
	}
	if _, err := Command(t, time.Minute, os.Environ(), "/no/such/launcher"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
