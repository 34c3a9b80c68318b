package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScrNodes(t *testing.T) {
	dir := t.TempDir()
	bad(t, exitFailed, "holds .scr", "scr", "nodes", dir)
	check(t, os.Mkdir(filepath.Join(dir, ".scr"), 0o777))
	if r := scrDo(t, "nodes", dir); r.code != exitFindings || r.out != "" || !strings.Contains(r.err, "not known") {
		t.Errorf("without the file: %+v", r)
	}
	if r := scrDo(t, "nodes", "--json", dir); r.code != exitFindings || !strings.Contains(r.out, `"nodes": null`) {
		t.Errorf("without the file: %+v", r)
	}
	bad(t, exitFailed, "at least 1", "scr", "nodes", "--set", "0", dir)
	bad(t, exitFailed, "too many", "scr", "nodes", dir, dir)
	if got := good(t, "scr", "nodes", "--set", "4", dir); got != "4\n" {
		t.Errorf("--set 4: %q", got)
	}
	if got := good(t, "scr", "nodes", "--json", dir); !strings.Contains(got, `"nodes": 4`) {
		t.Errorf("json: %q", got)
	}
	check(t, os.WriteFile(filepath.Join(dir, ".scr", "nodes.scr"), []byte("not a tree at all"), 0o666))
	bad(t, exitFailed, "--set", "scr", "nodes", dir)
	if got := good(t, "scr", "nodes", "--set", "7", dir); got != "7\n" {
		t.Errorf("--set over damage: %q", got)
	}
	t.Setenv("SCR_PREFIX", dir)
	if got := good(t, "scr", "nodes"); got != "7\n" {
		t.Errorf("prefix of the environment: %q", got)
	}
}

// The nodes file of the real SCR.
func TestScrNodesOfSCR(t *testing.T) {
	prefix, _ := scrCluster(t)
	if got := good(t, "scr", "nodes", prefix); got != "4\n" {
		t.Errorf("%q, want 4", got)
	}
}
