package versions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// Lost arrays of a store must be found and listed as lost, whichever of their files remain.
func TestVersionsLost(t *testing.T) {
	for _, x := range []struct {
		name        string
		gone        []string
		check, list string // expected words
		listed      int    // exit code of ls
	}{
		{"a level", []string{"amr.level1"}, "level 1 of hierarchy amr is lost; the last of the snapshots that need it (1) is 1", "    1    lost", cli.Findings},
		{"the coarsest level", []string{"amr.level0"}, "level 0 of hierarchy amr is lost; the last of the snapshots that need it (1) is 1", "    0    lost", cli.Findings},
		{"the snapshots", []string{"amr.global"}, "the snapshots of hierarchy amr are lost", "amr.level1", cli.Findings},
		{"a record of two", []string{"amr.level1/versions"}, "the seal is absent; the next commit rebuilds it", "\n    1       4", cli.Good},
		{"the other record", []string{"rho/versions.second"}, "the seal is absent; the next commit rebuilds it", "rho", cli.Good},
		{"both records of a level", []string{"amr.level1/versions", "amr.level1/versions.second"}, "absent, but versions exist", "    1    lost", cli.Findings},
		{"both records of the snapshots", []string{"amr.global/versions", "amr.global/versions.second"}, "absent, but versions exist", "amr.level1", cli.Findings},
		{"both records of an array", []string{"rho/versions", "rho/versions.second"}, "absent, but versions exist", "amr.level1", cli.Findings},
	} {
		dir, _ := clitest.VersionStore(t)
		for _, g := range x.gone {
			clitest.Check(t, os.RemoveAll(filepath.Join(dir, g)))
		}
		r := clitest.Blobio(t, "versions", "check", dir)
		if r.Code != cli.Findings || !strings.Contains(r.Out, x.check) || strings.Count(r.Out, "error: ") != 1 {
			t.Errorf("without %s: check: %d\n%s%s", x.name, r.Code, r.Out, r.Err)
		}
		clitest.Bad(t, cli.Findings, `"errors": 1`, "versions", "check", "--json", dir)
		if r := clitest.Blobio(t, "versions", "ls", dir); r.Code != x.listed || !strings.Contains(r.Out, x.list) {
			t.Errorf("without %s: ls: %d\n%s%s", x.name, r.Code, r.Out, r.Err)
		}
	}
	dir, _ := clitest.VersionStore(t) // the next step drops a version that a snapshot names
	clitest.Good(t, "versions", "drop", filepath.Join(dir, "amr.level0"), "--versions", "2", "--force")
	clitest.Bad(t, cli.Findings, "version 2 is missing, but snapshot 1 needs it", "versions", "check", dir)
}

// Lost records must be rebuilt, from the other record or from the data files.
func TestVersionsRebuild(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	rho, n := filepath.Join(dir, "rho"), filepath.Join(dir, "n")
	want := clitest.Good(t, "versions", "ls", rho) + clitest.Good(t, "versions", "dump", rho, "--version", "3") + clitest.Good(t, "versions", "dump", "--key-file", key, n)
	hierarchy := clitest.Good(t, "versions", "ls", dir)
	if out := clitest.Good(t, "versions", "rebuild", dir); strings.Count(out, "the seal is intact\n") != 5 {
		t.Error(out)
	}
	for _, both := range []bool{false, true} {
		for _, a := range []string{"rho", "n", "amr.global", "amr.level0", "amr.level1"} {
			clitest.Check(t, os.Remove(filepath.Join(dir, a, "versions")))
			if both {
				clitest.Check(t, os.Remove(filepath.Join(dir, a, "versions.second")))
			}
		}
		from := map[bool]string{false: "rebuilt from the intact file", true: "rebuilt from the data files"}[both]
		if out := clitest.Good(t, "versions", "rebuild", "-n", dir); strings.Count(out, from+"; nothing was written (--dry-run)\n") != 5 {
			t.Errorf("%v: %s", both, out)
		}
		if r := clitest.Blobio(t, "versions", "check", dir); r.Code != cli.Findings {
			t.Errorf("after a dry run: %s", r.Out)
		}
		if out := clitest.Good(t, "versions", "rebuild", dir); strings.Count(out, from+"\n") != 5 {
			t.Errorf("%v: %s", both, out)
		}
		clitest.Good(t, "versions", "check", dir)
		if got := clitest.Good(t, "versions", "ls", rho) + clitest.Good(t, "versions", "dump", rho, "--version", "3") + clitest.Good(t, "versions", "dump", "--key-file", key, n); !both && got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got := clitest.Good(t, "versions", "ls", dir); got[strings.Index(got, "hierarchy"):] != hierarchy[strings.Index(hierarchy, "hierarchy"):] {
			t.Errorf("%s\nwant\n%s", got, hierarchy)
		}
	}
	clitest.Shows(t, `"whole": true`, "versions", "rebuild", "--json", rho)
	empty := filepath.Join(t.TempDir(), "empty")
	clitest.Check(t, os.Mkdir(empty, 0o777))
	clitest.Bad(t, cli.Failed, "no array in this directory", "versions", "rebuild", empty)
}
