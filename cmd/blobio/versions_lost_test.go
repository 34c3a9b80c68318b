package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is lost of a store is found, and listed as lost, whatever of it is there still.
func TestVersionsLost(t *testing.T) {
	for _, x := range []struct {
		name        string
		gone        []string
		check, list string // what they say
		listed      int    // exit code of ls
	}{
		{"a level", []string{"amr.level1"}, "level 1 of hierarchy amr is lost, and with it the snapshots 1", "    1    lost", exitFailed},
		{"the coarsest level", []string{"amr.level0"}, "level 0 of hierarchy amr is lost, and with it the snapshots 1", "    0    lost", exitFailed},
		{"the snapshots", []string{"amr.global"}, "the snapshots of hierarchy amr are lost", "amr.level1", exitFailed},
		{"a record of two", []string{"amr.level1/versions"}, "the record is absent; the next commit makes it anew", "\n    1       4", exitGood},
		{"the other record", []string{"rho/versions.second"}, "the record is absent; the next commit makes it anew", "rho", exitGood},
		{"both records of a level", []string{"amr.level1/versions", "amr.level1/versions.second"}, "absent, but versions are there", "    1    lost", exitFailed},
		{"both records of the snapshots", []string{"amr.global/versions", "amr.global/versions.second"}, "absent, but versions are there", "amr.level1", exitFailed},
		{"both records of an array", []string{"rho/versions", "rho/versions.second"}, "absent, but versions are there", "amr.level1", exitFailed},
	} {
		dir, _ := versionStore(t)
		for _, g := range x.gone {
			check(t, os.RemoveAll(filepath.Join(dir, g)))
		}
		r := blobio(t, "versions", "check", dir)
		if r.code != exitFindings || !strings.Contains(r.out, x.check) || strings.Count(r.out, "error: ") != 1 {
			t.Errorf("without %s: check: %d\n%s%s", x.name, r.code, r.out, r.err)
		}
		if r := blobio(t, "versions", "check", "--json", dir); r.code != exitFindings || !strings.Contains(r.out, `"errors": 1`) {
			t.Errorf("without %s: check --json: %d\n%s%s", x.name, r.code, r.out, r.err)
		}
		if r := blobio(t, "versions", "ls", dir); r.code != x.listed || !strings.Contains(r.out, x.list) {
			t.Errorf("without %s: ls: %d\n%s%s", x.name, r.code, r.out, r.err)
		}
	}
	dir, _ := versionStore(t) // a version that a snapshot names
	good(t, "versions", "drop", filepath.Join(dir, "amr.level0"), "--versions", "2", "--force")
	if r := blobio(t, "versions", "check", dir); r.code != exitFindings || !strings.Contains(r.out, "version 2, which snapshot 1 names, is not there") {
		t.Errorf("check: %d\n%s%s", r.code, r.out, r.err)
	}
}

// Records that are lost are made anew, from the other one or from the data files.
func TestVersionsRebuild(t *testing.T) {
	dir, key := versionStore(t)
	rho, n := filepath.Join(dir, "rho"), filepath.Join(dir, "n")
	want := good(t, "versions", "ls", rho) + good(t, "versions", "dump", rho, "--version", "3") + good(t, "versions", "dump", "--key-file", key, n)
	hierarchy := good(t, "versions", "ls", dir)
	if out := good(t, "versions", "rebuild", dir); strings.Count(out, "the record is whole\n") != 5 {
		t.Error(out)
	}
	for _, both := range []bool{false, true} {
		for _, a := range []string{"rho", "n", "amr.global", "amr.level0", "amr.level1"} {
			check(t, os.Remove(filepath.Join(dir, a, "versions")))
			if both {
				check(t, os.Remove(filepath.Join(dir, a, "versions.second")))
			}
		}
		from := map[bool]string{false: "made anew from the one that is whole", true: "made anew from the data files"}[both]
		if out := good(t, "versions", "rebuild", "-n", dir); strings.Count(out, from+"; nothing was written (--dry-run)\n") != 5 {
			t.Errorf("%v: %s", both, out)
		}
		if r := blobio(t, "versions", "check", dir); r.code != exitFindings {
			t.Errorf("after a dry run: %s", r.out)
		}
		if out := good(t, "versions", "rebuild", dir); strings.Count(out, from+"\n") != 5 {
			t.Errorf("%v: %s", both, out)
		}
		good(t, "versions", "check", dir)
		if got := good(t, "versions", "ls", rho) + good(t, "versions", "dump", rho, "--version", "3") + good(t, "versions", "dump", "--key-file", key, n); !both && got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got := good(t, "versions", "ls", dir); got[strings.Index(got, "hierarchy"):] != hierarchy[strings.Index(hierarchy, "hierarchy"):] {
			t.Errorf("%s\nwant\n%s", got, hierarchy)
		}
	}
	if out := good(t, "versions", "rebuild", "--json", rho); !strings.Contains(out, `"whole": true`) {
		t.Error(out)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	check(t, os.Mkdir(empty, 0o777))
	bad(t, exitFailed, "no array there", "versions", "rebuild", empty)
}
