package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
)

// flipData flips a bit in the last element of the last record of a variable of a dataset.
func flipData(t *testing.T, path, name string) {
	t.Helper()
	r, err := blob.Open(t.Context(), path, nil)
	check(t, err)
	defer r.Close()
	var last blob.Extent
	for e, err := range r.Extents(t.Context()) {
		check(t, err)
		if e.Name == name && e.Bytes > 0 {
			last = e
		}
	}
	b, err := os.ReadFile(last.File)
	check(t, err)
	b[last.Offset+last.Bytes-1] ^= 64
	check(t, os.WriteFile(last.File, b, 0o666))
}

// TestDamage: a flipped bit ends whatever prints, compares or converts the data, and leaves no output. --no-verify saves
// what is left, says so, and makes nothing that check calls good.
func TestDamage(t *testing.T) {
	dir, canon, variable, process := toys(t)
	for k, path := range []string{variable, process} {
		out := filepath.Join(dir, "out")
		check(t, os.RemoveAll(out))
		check(t, os.Mkdir(out, 0o777))
		flipData(t, path, "T")
		for _, args := range [][]string{
			{"dump", path}, {"dump", "-v", "T", path}, {"dump", "--json", path}, {"dump", "--raw", "-v", "T", "--rec", "2", path},
			{"diff", path, canon}, {"diff", canon, path},
			{"convert", path, filepath.Join(out, "c.nc")},
			{"convert", "--to", "process-centric", path, filepath.Join(out, "p.h5")},
			{"convert", "--to", "variable-centric", "--ranks", "2", path, filepath.Join(out, "v.nc")},
		} {
			r := blobio(t, args...)
			if r.code != exitFailed || !strings.Contains(r.err, `variable "T" record 2: `) || !strings.Contains(r.err, "checksum mismatch") {
				t.Errorf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
		if left := names(t, out); left != "" {
			t.Errorf("left over: %s", left)
		}
		good(t, "dump", "-v", "lat,count", path)
		good(t, "convert", "--no-sync", "--records", "0:2", path, filepath.Join(out, "some.nc"))
		if r := blobio(t, "check", path); r.code != exitFindings {
			t.Errorf("check: exit code %d\n%s", r.code, r.out)
		}
		saved := filepath.Join(out, "saved.nc")
		for _, args := range [][]string{{"dump", "--no-verify", path}, {"convert", "--no-verify", "--to", "variable-centric", path, saved}} {
			if r := blobio(t, args...); r.code != exitGood || !strings.Contains(r.err, "note: the data of "+path+" are not compared") {
				t.Errorf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
		if r := blobio(t, "diff", saved, canon); r.code != exitFindings || !strings.Contains(r.out, `"T": 1 of 36 values differ`) {
			t.Errorf("diff of what was saved: exit code %d\n%s%s", r.code, r.out, r.err)
		}
		if r := blobio(t, "check", saved); !strings.Contains(r.out, "not compared with their checksums") {
			t.Errorf("%d: check of what was saved: exit code %d\n%s%s", k, r.code, r.out, r.err)
		}
	}
}

// TestEndlessDump: a dimension that no small file can have makes check say so, and dump end at once.
func TestEndlessDump(t *testing.T) {
	_, _, variable, process := toys(t)
	for path, at := range map[string]string{variable: "\x00\x00\x00\x00\x00\x00\x00\x04ncol", process: "\x04\x00\x00\x00\x00\x00\x00\x00ncol"} {
		check(t, os.Remove(path+".manifest"))
		for _, sub := range []string{".0000", ".0001"} {
			b, err := os.ReadFile(path + sub)
			check(t, err)
			i := strings.Index(string(b), at) + len(at)
			if path == process {
				b[i+6] = 8 // 2^51
			} else {
				b[i+1] = 8
			}
			check(t, os.WriteFile(path+sub, b, 0o666))
		}
		bad(t, exitFailed, `dimension "ncol": 2251799813685254: `, "dump", path)
		if r := blobio(t, "check", path); r.code != exitFindings || !strings.Contains(r.out, `dimension "ncol"`) {
			t.Errorf("check: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
}
