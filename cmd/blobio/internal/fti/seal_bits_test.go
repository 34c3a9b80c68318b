package fti_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
	"blobio/internal/crashtest"
)

// TestFFStoreSealBits: a changed bit of the seal of a store, of which there is one, is an error by its name for whoever reads the store, never an
// older state; ff repair makes the seal anew.
func TestFFStoreSealBits(t *testing.T) {
	dir := clitest.FFStore(t)
	seal := filepath.Join(dir, "checkpoints")
	b, err := os.ReadFile(seal)
	clitest.Check(t, err)
	step := crashtest.Times(37, 1)
	for n := 0; n < 8*len(b); n += step {
		b[n/8] ^= 1 << (n % 8)
		clitest.Check(t, os.WriteFile(seal, b, 0o666))
		for _, v := range [][]string{{"ff", "ls", dir}, {"ff", "check", dir}, {"check", dir}, {"ls", dir}, {"ff", "dump", "--var", "7", dir}, {"ff", "diff", dir, dir}} {
			if r := clitest.Blobio(t, v...); r.Code == cli.Good || !strings.Contains(r.Out+r.Err, seal) {
				t.Errorf("bit %d, %v: %+v", n, v, r)
			}
		}
		if r := clitest.Blobio(t, "ff", "repair", "-n", dir); r.Code != cli.Good || !strings.Contains(r.Out, "checkpoint 5 in slot 2") {
			t.Errorf("bit %d: %+v", n, r)
		}
		b[n/8] ^= 1 << (n % 8)
	}
	clitest.Good(t, "ff", "repair", dir)
	clitest.Good(t, "ff", "check", dir)
}
