package fti_test

import (
	"os"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestFFRepairStore checks that a store with a lost or damaged seal is an error with a hint, and can be repaired.
func TestFFRepairStore(t *testing.T) {
	dir := clitest.FFStore(t)
	seal := filepath.Join(dir, "checkpoints")
	clitest.Bad(t, cli.Failed, "--force", "ff", "repair", dir) // the store is sound
	clitest.Check(t, os.Remove(seal))
	for _, verb := range []string{"ls", "check", "dump"} {
		clitest.Bad(t, cli.Failed, "blobio ff repair restores", "ff", verb, dir)
	}
	clitest.Holds(t, clitest.Good(t, "ff", "repair", "-n", dir), "checkpoint 5 in slot 2", "nothing was written")
	clitest.Shows(t, `"written": true`, "ff", "repair", "--json", dir)
	clitest.Good(t, "ff", "check", dir)
	clitest.Bad(t, cli.Failed, "not a store of checkpoints", "ff", "repair", t.TempDir())
	clitest.Bad(t, cli.Failed, "--workers", "ff", "repair", "--workers", "-1", dir)
	clitest.FlipByte(t, seal, 40)
	for _, args := range [][]string{{"ls", dir}, {"dump", "--var", "7", dir}, {"diff", dir, dir}} {
		clitest.Bad(t, cli.Findings, seal, append([]string{"ff"}, args...)...)
	}
	clitest.Bad(t, cli.Findings, "blobio ff repair restores", "ff", "check", dir)
	clitest.Good(t, "ff", "repair", dir)
	clitest.Good(t, "ff", "check", dir)
}
