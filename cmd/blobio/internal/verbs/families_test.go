package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
)

// TestFamilies checks that ls, check, dump, diff and plot recognize a path by content, and report what a family lacks.
func TestFamilies(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	store, _ := clitest.VersionStore(t)
	cello := filepath.Join(dir, "Check")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--cells", "4", cello)
	native := filepath.Join(dir, "mesh.nc")
	clitest.Good(t, "amr", "convert", "--no-sync", cello, native)
	maps, text := filepath.Join(dir, "f.nc"), filepath.Join(dir, "f.dat")
	clitest.Good(t, "decomp", "gen", "F", maps, "--ne", "1", "--lev", "2", "--ranks", "2")
	clitest.Good(t, "decomp", "convert", maps, text)
	text = filepath.Join(dir, "f.D1.dat")
	prefix := clitest.ScrSets(t, 2)
	fti := clitest.FFStore(t)
	tree := testfiles.Dir(t, "kvtree", "nested.kvt")
	node := testfiles.Dir(t, "scr", "partner_1_after_crash", "nodes", "node0", "user1", "scr.1145655")
	const no = "-"
	for _, c := range []struct {
		path                        string
		ls, check, dump, diff, plot string // expected words: of the output, of findings (after ?), or of an error (after !); or no
	}{
		{canon, "ordinary netCDF", ": good", "netcdf toy", "are equal", "!not a map file or a dataset of blobs"},
		{variable, "variable-centric blobs", ": good", "netcdf toy", "are equal", "D1"},
		{process, "process-centric blobs", ": good", "netcdf toy", "are equal", "D1"},
		{cello, "root blocks of 4", "good", "block 0: B_", "are equal", "blocks"},
		{native, "ordinary netCDF", ": good", "netcdf mesh", "are equal", "!not a map file or a dataset of blobs"},
		{testfiles.Dir(t, "cello", "CheckA-10"), "root blocks of", "good", "density", "are equal", "blocks"},
		{fti, "store of checkpoints", "good", "ckptId     5", "equal", no},
		{fti + "@5/1", "checkpoint 5", "good", "ckptId     5", "equal", no},
		{filepath.Join(store, "rho"), "VERSION", "good", "[0,2,0] 4 4.5", "", no},
		{prefix, "VALID", "good", no, no, no},
		{node, "?2 errors, 0 warnings; 2 datasets", "?2 errors, 0 warnings; 2 datasets", no, no, no},
		{tree, "=", "nested.kvt: good", "=", no, no},
		{maps, "D1", ": good", "netcdf f", "are equal", "D1"},
		{text, "D1", "D1", "D1", no, "D1"},
	} {
		for verb, want := range map[string]string{"ls": c.ls, "check": c.check, "dump": c.dump, "diff": c.diff, "plot": c.plot} {
			args := []string{verb, c.path}
			switch {
			case verb == "plot":
				args = append(args, "-o", filepath.Join(t.TempDir(), "x.svg"))
			case verb == "dump" && strings.Contains(c.path, "Check"):
				args = append(args, "0")
			case verb == "diff" && want != no && !strings.HasPrefix(c.path, store):
				args = append(args, c.path)
			case verb == "diff" && want != no:
				args = append(args, "--from", "1", "--to", "1")
			}
			r := clitest.Blobio(t, args...)
			bad, failed := strings.CutPrefix(want, "!")
			switch {
			case want == no:
				if r.Code != cli.Failed || !strings.Contains(r.Err, verb+" does not accept a ") {
					t.Errorf("%v: exit code %d, %s%s", args, r.Code, r.Out, r.Err)
				}
			case failed:
				if r.Code != cli.Failed || !strings.Contains(r.Err, bad) {
					t.Errorf("%v: exit code %d, %s%s", args, r.Code, r.Out, r.Err)
				}
			case strings.HasPrefix(want, "?"):
				if r.Code != cli.Findings || !strings.Contains(r.Out, want[1:]) {
					t.Errorf("%v: exit code %d, %s%s", args, r.Code, r.Out, r.Err)
				}
			case want != "" && (r.Code != cli.Good || !strings.Contains(r.Out, want)):
				t.Errorf("%v: exit code %d, want %q\n%s%s", args, r.Code, want, r.Out, r.Err)
			}
		}
	}
	for _, c := range []struct {
		code  int
		words string
		args  []string
	}{
		{cli.Good, canon + ": good\n", []string{"check", cello, canon, "--strict", prefix}},
		{cli.Good, "root blocks", []string{"ls", canon, cello}},
		{cli.Failed, "accepts only one kind of file", []string{"check", "--json", canon, cello}},
		{cli.Failed, "diff does not accept a prefix directory of SCR", []string{"diff", prefix, prefix}},
		{cli.Failed, "no file, directory or dataset of this name", []string{"check", cello, filepath.Join(dir, "none")}},
		{cli.Good, "good", []string{"--no-progress", "check", cello}},
		{cli.Good, "[0,0,0] 0 0.5", []string{"dump", filepath.Join(store, "rho"), "--version", "1"}},
		{cli.Failed, "blobio plot needs a path", []string{"plot"}},
		{cli.Failed, "unknown flag: --none", []string{"check", "--none"}},
		{cli.Good, "blobio amr dump PATH BLOCK", []string{"dump", cello, "--help"}},
	} {
		if r := clitest.Blobio(t, c.args...); r.Code != c.code || !strings.Contains(r.Out+r.Err, c.words) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s%s", c.args, r.Code, c.code, c.words, r.Out, r.Err)
		}
	}
	// Values of flags are not paths, even if such files exist.
	t.Chdir(dir)
	clitest.Check(t, os.Mkdir("5", 0o777))
	for _, args := range [][]string{
		{"check", "--max-level", "5", cello}, {"check", "--quick", "--control", node, prefix}, {"plot", "-o", "p.svg", "--width", "5", cello}, {"plot", "-fo", fti, cello},
	} {
		if r := clitest.Blobio(t, args...); strings.Contains(r.Out, "--control") || strings.Contains(r.Err, "unknown flag") || strings.Contains(r.Err, "one kind") {
			t.Errorf("%v: %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
	// -b is a flag of amr ls, and takes no value.
	clitest.Shows(t, "BLOCK", "ls", "-b", cello)
	// Names of directories may look like shell patterns.
	odds := filepath.Join(dir, "[1-3]")
	clitest.Check(t, os.Mkdir(odds, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(odds, "a.block_list"), nil, 0o666))
	if r := clitest.Blobio(t, "ls", odds); !strings.Contains(r.Err, "has block lists, but no ") {
		t.Errorf("a directory with a block list: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	odds = filepath.Join(dir, "[4-6]")
	clitest.Check(t, os.Mkdir(odds, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(odds, "a.fti"), nil, 0o666))
	if r := clitest.Blobio(t, "ls", odds); !strings.Contains(r.Out, "a.fti") {
		t.Errorf("a directory with a file of FTI: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	// check must report a damaged file among good files of other kinds.
	odd := filepath.Join(dir, "odd.kvt")
	b := clitest.Read(t, tree)
	b[len(b)-6] ^= 1
	clitest.Check(t, os.WriteFile(odd, b, 0o666))
	if r := clitest.Blobio(t, "check", canon, odd, cello); r.Code != cli.Findings || !strings.Contains(r.Err, "odd.kvt") || strings.Count(r.Out, "good") < 2 {
		t.Errorf("check of a damaged file among others: %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
