package clitest

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Limited lets a command have at most that many files open.
func Limited(t *testing.T, cmd *exec.Cmd, files int) *exec.Cmd {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	cmd.Args = append([]string{sh, "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(files), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sh
	return cmd
}

// Many writes a dataset of that many subfiles, and returns the ordinary file that it was made of.
func Many(t *testing.T, layout string, subfiles int, name string) (canon string) {
	t.Helper()
	canon = Toy(t, t.TempDir())
	n := strconv.Itoa(subfiles)
	Good(t, "convert", "--no-sync", "--to", layout, "--ranks", n, "--subfiles", n, canon, name)
	return canon
}

// Deaf is a pipe that is full, and that nobody reads.
func Deaf(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	Check(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	b := make([]byte, 4096)
	for n := len(b); n > 0; n /= 2 {
		for err = error(nil); err == nil; {
			Check(t, w.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
			_, err = w.Write(b[:n])
		}
	}
	return w
}
