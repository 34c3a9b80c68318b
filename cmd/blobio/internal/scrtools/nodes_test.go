package scrtools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestScrNodes(t *testing.T) {
	dir := t.TempDir()
	clitest.Bad(t, cli.Failed, "holds .scr", "scr", "nodes", dir)
	clitest.Check(t, os.Mkdir(filepath.Join(dir, ".scr"), 0o777))
	if r := scrDo(t, "nodes", dir); r.Code != cli.Findings || r.Out != "" || !strings.Contains(r.Err, "not known") {
		t.Errorf("without the file: %+v", r)
	}
	if r := scrDo(t, "nodes", "--json", dir); r.Code != cli.Findings || !strings.Contains(r.Out, `"nodes": null`) {
		t.Errorf("without the file: %+v", r)
	}
	clitest.Bad(t, cli.Failed, "at least 1", "scr", "nodes", "--number", "0", dir)
	clitest.Bad(t, cli.Failed, "one too many", "scr", "nodes", dir, dir)
	if got := clitest.Good(t, "scr", "nodes", "--number", "4", dir); got != "4\n" {
		t.Errorf("--number 4: %q", got)
	}
	if got := clitest.Good(t, "scr", "nodes", "--json", dir); !strings.Contains(got, `"nodes": 4`) {
		t.Errorf("json: %q", got)
	}
	clitest.Check(t, os.WriteFile(filepath.Join(dir, ".scr", "nodes.scr"), []byte("not a tree at all"), 0o666))
	clitest.Bad(t, cli.Failed, "--number", "scr", "nodes", dir)
	if got := clitest.Good(t, "scr", "nodes", "--number", "7", dir); got != "7\n" {
		t.Errorf("--number over damage: %q", got)
	}
	t.Setenv("SCR_PREFIX", dir)
	if got := clitest.Good(t, "scr", "nodes"); got != "7\n" {
		t.Errorf("prefix of the environment: %q", got)
	}
}

// The nodes file of the real SCR.
func TestScrNodesOfSCR(t *testing.T) {
	prefix, _ := scrCluster(t)
	if got := clitest.Good(t, "scr", "nodes", prefix); got != "4\n" {
		t.Errorf("%q, want 4", got)
	}
}
