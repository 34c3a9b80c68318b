package fti_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestFFStore(t *testing.T) {
	dir := clitest.FFStore(t)
	out := clitest.Good(t, "ff", "ls", dir)
	clitest.Holds(t, out, dir+": store of checkpoints, FTI-FF layout F, 2 ranks, 3 slots, ", "\n         4  2026-01-02 03:04:05 UTC          2  1.95 KiB  ", "\n         5  ")
	clitest.Holds(t, clitest.Good(t, "ff", "ls", dir+"@4"), "dCPFile-Rank0.fti", "dCPFile-Rank1.fti")
	clitest.Holds(t, clitest.Good(t, "ff", "ls", dir+"@4/1"), "checkpoint 4", "map:")
	var d struct {
		Stores []struct {
			Ranks, Slots, Files int
			Checkpoints         []struct{ ID, Data int64 }
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "ls", "--json", dir)), &d))
	if len(d.Stores) != 1 || d.Stores[0].Ranks != 2 || len(d.Stores[0].Checkpoints) != 2 || d.Stores[0].Checkpoints[1].ID != 5 {
		t.Errorf("ff ls --json: %+v", d)
	}
	if out := dumped(t, "--var", "7", "--type", "u1", "--elements", "4:7", dir); out != "1\n5\n1\n" {
		t.Errorf("ff dump of the newest: %q", out)
	}
	if out := dumped(t, "--var", "7", "--type", "u1", "--elements", "4", dir+"@4/1"); out != "4\n" {
		t.Errorf("ff dump of a rank: %q", out)
	}
	r := clitest.Blobio(t, "ff", "diff", dir+"@4/1", dir+"@5/1")
	if r.Code != cli.Findings || !strings.Contains(r.Out, "variable 7: 2 of 1000 bytes differ") {
		t.Errorf("ff diff: %+v", r)
	}
	x := t.TempDir()
	clitest.Good(t, "ff", "dump", dir+"@5/1", "-o", x)
	clitest.Good(t, "ff", "convert", "--no-sync", "--layout", "B", dir+"@5/1", filepath.Join(x, "b.fti"))
	for _, verb := range []string{"convert", "repair"} { // a file of the store must not replace itself
		clitest.Bad(t, cli.Failed, "input and output are the same file", "ff", verb, "--force", dir+"@5/1", filepath.Join(dir, "slot2", "dCPFile-Rank1.fti"))
	}
	clitest.Holds(t, out, "\nspare: checkpoint 3 in slot 0; ")
	if out := dumped(t, "--var", "7", "--type", "u1", "--elements", "3", dir+"@3/1"); out != "3\n" {
		t.Errorf("ff dump of a spare: %q", out)
	}
	clitest.Bad(t, cli.Failed, "no checkpoint 2 in "+dir+", the checkpoints are 3, 4, 5", "ff", "ls", dir+"@2")
	clitest.Bad(t, cli.Failed, "no rank 2", "ff", "dump", dir+"@4/2")
	clitest.Bad(t, cli.Failed, "no such file", "ff", "dump", dir+"@x")

	if out := clitest.Good(t, "ff", "check", "--strict", dir); out != dir+": good\n" {
		t.Errorf("ff check: %s", out)
	}

	for _, slot := range []string{"slot0", "slot1", "slot2"} {
		file := filepath.Join(dir, slot, "dCPFile-Rank1.fti")
		b := clitest.Read(t, file)
		b[0] ^= 1
		clitest.Check(t, os.WriteFile(file, b, 0o666))
	}
	r = clitest.Blobio(t, "ff", "check", "--json", dir)
	var c struct {
		Checked []struct {
			Errors   int
			Findings []struct {
				Dataset, Rank, Var int
				Severity           string
			}
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &c))
	if r.Code != cli.Findings || c.Checked[0].Errors != 2 || c.Checked[0].Findings[0].Dataset != 4 || c.Checked[0].Findings[0].Rank != 1 || c.Checked[0].Findings[0].Var != 7 {
		t.Errorf("ff check of a damaged store: %d\n%s", r.Code, r.Out)
	}
	clitest.Check(t, os.Remove(filepath.Join(dir, "checkpoints")))
	clitest.Bad(t, cli.Failed, "not committed", "ff", "ls", dir)
	clitest.Bad(t, cli.Failed, "not committed", "ff", "check", dir)
}
