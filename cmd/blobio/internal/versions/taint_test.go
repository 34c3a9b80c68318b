package versions_test

import (
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// ls must show the marks. Verbs that use the newest version must respect the marks. Marks can be
// removed.
func TestVersionsTaint(t *testing.T) {
	dir, _ := clitest.VersionStore(t)
	rho := filepath.Join(dir, "rho")
	was := clitest.Good(t, "versions", "dump", rho)
	if out := clitest.Good(t, "versions", "taint", rho, "--versions", "5-7"); !strings.Contains(out, "rho: 1 version (6) tainted; opened at version 5") && !strings.Contains(out, "opened at version") {
		t.Error(out)
	}
	if out := clitest.Good(t, "versions", "ls", rho); !strings.Contains(out, "TAINTED\n") || strings.Count(out, " yes\n") == 0 || strings.Count(out, " -\n") == 0 {
		t.Error(out)
	}
	if out := clitest.Good(t, "versions", "dump", rho); out == was {
		t.Error("the newest version is that which is tainted")
	}
	clitest.Shows(t, "dropped 1 version (6)", "versions", "drop", rho, "--keep", "9")
	// A tainted version of a level removes its snapshot from the list of openable snapshots.
	level := filepath.Join(dir, "amr.level0")
	clitest.Good(t, "versions", "taint", level, "--versions", "4")
	clitest.Shows(t, "no longer tainted; opened at version 4", "versions", "taint", "--clear", level, "--versions", "4")
	if out := clitest.Good(t, "versions", "ls", level); strings.Contains(out, "TAINTED") {
		t.Error(out)
	}
	clitest.Bad(t, 2, "--versions", "versions", "taint", rho)
}
