package clitest

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Limited limits the number of open files of a command.
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

// Many writes a dataset with the given number of subfiles, and returns its ordinary source file.
func Many(t *testing.T, layout string, subfiles int, name string) (canon string) {
	t.Helper()
	canon = Toy(t, t.TempDir())
	n := strconv.Itoa(subfiles)
	Good(t, "convert", "--no-sync", "--to", layout, "--ranks", n, "--subfiles", n, canon, name)
	return canon
}

// Deaf returns a full pipe that nobody reads.
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
