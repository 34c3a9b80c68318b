package versions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestVersionsLs(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	out := clitest.Good(t, "versions", "ls", dir)
	clitest.Holds(t, out, "ARRAY ", "amr.global  uint8", "rho         float64  2x3x4         4       6  \"step 3\"", ", encrypted\n",
		"hierarchy amr: 2 levels of ratio 2, 2 dimensions, u v; 1 snapshot, the last one 1 at time 0.25",
		"LEVEL  NEWEST  BOXES  CELLS  TIME  STEP  IN THE SNAPSHOT\n    0       4      2     13  0.75     3                2\n    1       4      2     13  0.75     3                2\n")
	out = clitest.Good(t, "versions", "ls", filepath.Join(dir, "rho"))
	clitest.Holds(t, out, "rho: float64 2x3x4, chunks of 512 B, 4 versions in 2 files, ", "VERSION  LABEL", "\n      0  -  ", "\n      3  \"step 2\"", "   0 B       0 B\n")
	clitest.Shows(t, "0.25  2 2\n", "versions", "ls", filepath.Join(dir, "amr.global"))
	var d struct {
		Arrays []struct {
			Array     string
			Shape     []int64
			Encrypted bool
			Versions  []struct {
				Number, Changed, Written int64
				Level                    *struct {
					Boxes int
					Cells int64
					Step  int64
				}
			}
		}
		Hierarchies []struct {
			Name      string
			Levels    int
			Snapshots int
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "versions", "ls", "--json", "--key-file", key, filepath.Join(dir, "n"))), &d))
	if len(d.Arrays) != 1 || !d.Arrays[0].Encrypted || len(d.Arrays[0].Versions) != 2 {
		t.Errorf("%+v", d)
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "versions", "ls", "--json", dir)), &d))
	if len(d.Arrays) != 5 || len(d.Hierarchies) != 1 || d.Hierarchies[0].Levels != 2 || d.Arrays[1].Array != "amr.level0" || d.Arrays[1].Versions[1].Level.Cells != 13 {
		t.Errorf("%+v", d)
	}
}

func TestVersionsDump(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	rho, level := filepath.Join(dir, "rho"), filepath.Join(dir, "amr.level1")
	if out := clitest.Good(t, "versions", "dump", rho, "--elements", "0,1:3,:"); out != "[0,1,0] 2 -0.5 NaN 3.5\n[0,2,0] 4 4.5 5 5.5\n" {
		t.Error(out)
	}
	if out := clitest.Good(t, "versions", "dump", rho, "--version", "1", "--elements", "1,2,1:"); out != "[1,2,1] 10.5 11 11.5\n" {
		t.Error(out)
	}
	if out := clitest.Good(t, "versions", "dump", rho, "--json", "--elements", "0,1,1:3"); out != `{"array": "rho", "version": 6, "type": "float64", "lo": [0,1,1], "hi": [1,2,3], "values": [-0.5, "NaN"]}`+"\n" {
		t.Error(out)
	}
	if out := clitest.Good(t, "versions", "dump", "--key-file", key, filepath.Join(dir, "n")); out != "[0] -1 2 -3 4 -5\n" {
		t.Error(out)
	}
	raw := filepath.Join(filepath.Dir(dir), "raw")
	clitest.Good(t, "versions", "dump", rho, "--version", "3", "-o", raw)
	b, err := os.ReadFile(raw)
	if err != nil || len(b) != 192 || !bytes.Equal(b[8:16], []byte{0, 0, 0, 0, 0, 0, 0xe0, 0x3f}) {
		t.Errorf("%x, %v", b, err)
	}
	clitest.Bad(t, cli.Failed, "--force replaces the output", "versions", "dump", rho, "-o", raw)
	out := clitest.Good(t, "versions", "dump", level)
	clitest.Holds(t, out, "amr.level1 version 4: level 1, 2 dimensions, 2 components, time 0.75, dt 0.25, step 3, dx 0.25, ratio 2, regrid 2, 2 boxes\n", "  0  (0,4) to (2,7)      12      0       0\n", "  1  (3,0) to (3,0)       1      1      24\n")
	clitest.Shows(t, "  1  (0,0) to (0,0)", "versions", "dump", level, "--version", "1")
	want := "box 0 of amr.level1 version 4: cells (0,4) to (2,7), owner 0\n0 [0,4] 0 0 0\n0 [0,5] 0 0 0\n0 [0,6] 0 0 0\n0 [0,7] 0 0 0\n1 [0,4] 0 1 0\n1 [0,5] 0 0 0\n1 [0,6] 0 0 0\n1 [0,7] 0 0 0\n"
	if out := clitest.Good(t, "versions", "dump", level, "--box", "0"); out != want {
		t.Error(out)
	}
	clitest.Good(t, "versions", "dump", level, "--box", "1", "-o", raw, "--force")
	if b, err := os.ReadFile(raw); err != nil || !bytes.Equal(b, []byte{0, 0, 0, 0, 0, 0, 0x1c, 0x40, 0, 0, 0, 0, 0, 0, 0x20, 0x40}) {
		t.Errorf("%x, %v", b, err)
	}
	clitest.Shows(t, `"Time": 0.25`, "versions", "dump", filepath.Join(dir, "amr.global"))
	if out := clitest.Good(t, "versions", "dump", level, "--values", "--elements", "0:8"); out != "[0] 66 76 79 66 76 86 76 49\n" {
		t.Error(out)
	}
}

func TestVersionsDiff(t *testing.T) {
	dir, _ := clitest.VersionStore(t)
	rho := filepath.Join(dir, "rho")
	r := clitest.Blobio(t, "versions", "diff", rho)
	want := "[0,1,1] to [0,1,2]: 2 elements, some are not finite\n[1,2,3]: 1 element, by at most 88.5\nrho: versions 3 and 6 differ: 3 of 24 elements\n"
	if r.Code != cli.Findings || r.Out != want {
		t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
	}
	if out := clitest.Good(t, "versions", "diff", rho, "--from", "1", "--to", "3"); out != "rho: versions 1 and 3 are equal, 24 elements\n" {
		t.Error(out)
	}
	if r := clitest.Blobio(t, "versions", "diff", "-q", rho, "--from", "0"); r.Code != cli.Findings || r.Out != "" {
		t.Errorf("%+v", r)
	}
	r = clitest.Blobio(t, "versions", "diff", filepath.Join(dir, "amr.level1"), "--from", "2", "--to", "3")
	clitest.Holds(t, r.Out, "amr.level1: versions 2 and 3 differ: ")
	var d struct {
		Equal  bool
		Differ int64
		Ranges []struct{ Lo, Hi int64 }
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "versions", "diff", "--json", rho).Out), &d))
	if d.Equal || d.Differ != 3 || len(d.Ranges) != 2 || d.Ranges[0].Lo != 5 || d.Ranges[0].Hi != 7 {
		t.Errorf("%+v", d)
	}
	clitest.Bad(t, cli.Failed, "version 0 is the oldest version", "versions", "diff", rho, "--to", "0")
}

func TestVersionsCheck(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	clitest.Holds(t, clitest.Good(t, "versions", "check", dir), "rho: good; 4 versions\n", "n: good, 1 note (--notes shows them); 2 versions\n")
	clitest.Good(t, "versions", "check", "--key-file", key, filepath.Join(dir, "n"))
	name := filepath.Join(dir, "rho", "g1-v6-r0.fti")
	b := clitest.Read(t, name)
	i := bytes.Index(b, []byte{0, 0, 0, 0, 0, 0, 0x59, 0x40}) // 100.0
	if i < 0 {
		t.Fatal("no 100 in the file")
	}
	clitest.FlipByte(t, name, i)
	r := clitest.Blobio(t, "versions", "check", filepath.Join(dir, "rho"))
	if r.Code != cli.Findings || !strings.Contains(r.Out, "g1-v6-r0.fti") || !strings.Contains(r.Out, "error: version 6, elements 0 to ") || !strings.Contains(r.Out, "rho: 2 errors, 0 warnings; 4 versions\n") {
		t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
	}
	clitest.Bad(t, cli.Findings, "blobio versions check lists all faults", "versions", "dump", filepath.Join(dir, "rho"))
	clitest.Good(t, "versions", "dump", filepath.Join(dir, "rho"), "--version", "3")
	clitest.Check(t, os.Remove(name))
	clitest.Bad(t, cli.Findings, `"errors": 2`, "versions", "check", "--json", dir)
}

func TestVersionsDrop(t *testing.T) {
	dir, _ := clitest.VersionStore(t)
	rho, level := filepath.Join(dir, "rho"), filepath.Join(dir, "amr.level0")
	clitest.Holds(t, clitest.Good(t, "versions", "drop", rho, "--keep", "1", "--dry-run"), "rho: would drop 3 versions (0, 1, 3), ", "1 file freed")
	clitest.Shows(t, "4 versions", "versions", "ls", rho)
	clitest.Shows(t, "dropped 2 versions (0, 1), 0 B in 0 files freed", "versions", "drop", rho, "--versions", "0-2")
	if out := clitest.Good(t, "versions", "drop", rho, "--keep", "1"); !strings.Contains(out, "dropped 1 version (3), ") || strings.Contains(out, "0 files") {
		t.Error(out)
	}
	if got := clitest.Names(t, rho); got != "g1-v6-r0.fti versions versions.second" {
		t.Error(got)
	}
	clitest.Good(t, "versions", "check", rho)
	clitest.Holds(t, clitest.Good(t, "versions", "drop", level, "--keep", "1"), "kept for snapshots: 2 (--force drops them)\n", "3 versions (0, 1, 3)")
	clitest.Shows(t, `"dropped": [`, "versions", "drop", level, "--versions", "2", "--force", "--json")
	clitest.Good(t, "versions", "drop", filepath.Join(dir, "n"), "--keep", "1") // drop needs no key
	for words, args := range map[string]string{
		"is the newest version":                           "--versions 6",
		"no such version":                                 "--versions 4",
		"no versions selected: give --versions or --keep": "",
		"--keep 0":             "--keep 0",
		"as in 1,3-7":          "--versions 5-1",
		"--every needs --keep": "--versions 0 --every 3",
	} {
		clitest.Bad(t, cli.Failed, words, append([]string{"versions", "drop", rho}, strings.Fields(args)...)...)
	}
}

func TestVersionsRefuses(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	rho := filepath.Join(dir, "rho")
	short := filepath.Join(filepath.Dir(dir), "short")
	clitest.Check(t, os.WriteFile(short, []byte("abc"), 0o600))
	for _, c := range []struct{ words, args string }{
		{"needs the directory of a store", "ls"},
		{"no such file or directory\n", "ls " + dir + "/none"}, // no hint, because there is nothing to check
		{"no array in this directory", "ls " + filepath.Dir(dir)},
		{"is a store of 5 arrays, want the directory of one array", "dump " + dir},
		{"version 4: no such version", "dump --version 4 " + rho},
		{"want the number of a version", "dump --version x " + rho},
		{"has 1 dimension, the array has 3", "dump --elements 0 " + rho},
		{"there are 4 elements", "dump --elements 0,0,0:5 " + rho},
		{"want FIRST:END", "dump --elements 0,0,x " + rho},
		{"has no boxes", "dump --box 0 " + rho},
		{"the level has 2 boxes", "dump --box 2 " + dir + "/amr.level0"},
		{"--box cannot be combined", "dump --box 2 --values " + dir + "/amr.level0"},
		{"wrong key (--key-file names the file with the key)", "dump " + dir + "/n"},
		{"the store was made with another key", "dump --key-file " + key + " " + rho},
		{"the key has a wrong length, want 16, 24 or 32 bytes", "ls --key-file " + short + " " + rho},
	} {
		clitest.Bad(t, cli.Failed, c.words, append([]string{"versions"}, strings.Fields(c.args)...)...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"ls", dir}, {"dump", rho}, {"diff", rho}, {"check", dir}, {"drop", rho, "--keep", "1"}} {
		if r := clitest.BlobioCtx(ctx, append([]string{"versions"}, args...)...); r.Code != cli.Failed || !strings.Contains(r.Err, "interrupted") {
			t.Errorf("versions %s, cancelled: %d %s", args[0], r.Code, r.Err)
		}
	}
	clitest.Shows(t, "4 versions", "versions", "ls", rho)
}
