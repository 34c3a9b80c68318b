package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// flipData flips a bit in the last element of the last record of a variable of a dataset.
func flipData(t *testing.T, path, name string) {
	t.Helper()
	r, err := blob.Open(t.Context(), path, nil)
	clitest.Check(t, err)
	defer r.Close()
	var last blob.Extent
	for e, err := range r.Inspect().Extents(t.Context()) {
		clitest.Check(t, err)
		if e.Name == name && e.Bytes > 0 {
			last = e
		}
	}
	b := clitest.Read(t, last.File)
	b[last.Offset+last.Bytes-1] ^= 64
	clitest.Check(t, os.WriteFile(last.File, b, 0o666))
}

// TestDamage checks that verbs that print, compare or convert data stop at a flipped bit and leave no output. --no-verify
// salvages the rest with a message, and check never calls the result good.
func TestDamage(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	for k, path := range []string{variable, process} {
		out := filepath.Join(dir, "out")
		clitest.Check(t, os.RemoveAll(out))
		clitest.Check(t, os.Mkdir(out, 0o777))
		flipData(t, path, "T")
		for _, args := range [][]string{
			{"dump", path}, {"dump", "-v", "T", path}, {"dump", "--json", path}, {"dump", "--raw", "-v", "T", "--records", "2", path},
			{"diff", path, canon}, {"diff", canon, path},
			{"convert", path, filepath.Join(out, "c.nc")},
			{"convert", "--to", "process-centric", path, filepath.Join(out, "p.h5")},
			{"convert", "--to", "variable-centric", "--ranks", "2", path, filepath.Join(out, "v.nc")},
		} {
			r := clitest.Blobio(t, args...)
			if r.Code != cli.Findings || !strings.Contains(r.Err, `variable "T" record 2: `) || !strings.Contains(r.Err, "checksum mismatch") {
				t.Errorf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
			}
		}
		if left := clitest.Names(t, out); left != "" {
			t.Errorf("left over: %s", left)
		}
		clitest.Good(t, "dump", "-v", "lat,count", path)
		clitest.Good(t, "convert", "--no-sync", "--records", "0:2", path, filepath.Join(out, "some.nc"))
		if r := clitest.Blobio(t, "check", path); r.Code != cli.Findings {
			t.Errorf("check: exit code %d\n%s", r.Code, r.Out)
		}
		saved := filepath.Join(out, "saved.nc")
		for _, args := range [][]string{{"dump", "--no-verify", path}, {"convert", "--no-verify", "--to", "variable-centric", path, saved}} {
			if r := clitest.Blobio(t, args...); r.Code != cli.Good || !strings.Contains(r.Err, "note: the data of "+path+" are not compared") {
				t.Errorf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
			}
		}
		clitest.Bad(t, cli.Findings, `"T": 1 of 36 values differ`, "diff", saved, canon)
		if r := clitest.Blobio(t, "check", saved); !strings.Contains(r.Out, "converted from unverified data") {
			t.Errorf("%d: check of what was saved: exit code %d\n%s%s", k, r.Code, r.Out, r.Err)
		}
	}
}

// TestEndlessDump checks a small file with a huge dimension: check reports the dimension, and dump ends at once.
func TestEndlessDump(t *testing.T) {
	_, _, variable, process := clitest.Toys(t)
	for path, at := range map[string]string{variable: "\x00\x00\x00\x00\x00\x00\x00\x04ncol", process: "\x04\x00\x00\x00\x00\x00\x00\x00ncol"} {
		clitest.Check(t, os.Remove(path+".manifest"))
		for _, sub := range []string{".0000", ".0001"} {
			b := clitest.Read(t, path+sub)
			i := strings.Index(string(b), at) + len(at)
			if path == process {
				b[i+6] = 8 // 2^51
			} else {
				b[i+1] = 8
			}
			clitest.Check(t, os.WriteFile(path+sub, b, 0o666))
		}
		clitest.Bad(t, cli.Findings, `dimension "ncol": length 2251799813685254 gives `, "dump", path)
		clitest.Bad(t, cli.Findings, `dimension "ncol"`, "check", path)
	}
}
