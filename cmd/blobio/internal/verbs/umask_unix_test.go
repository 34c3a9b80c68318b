//go:build unix

package verbs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// The umask of the user must determine the mode of a map file.
func TestMapFilesObeyUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	name := filepath.Join(t.TempDir(), "m.nc")
	clitest.Good(t, "decomp", "gen", "F", name, "--ne", "2", "--ranks", "2")
	info, err := os.Stat(name)
	clitest.Check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}
