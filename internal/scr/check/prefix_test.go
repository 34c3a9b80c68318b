package check_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/scr/check"
	"blobio/internal/scr/prefixdir"
)

var must = testfiles.Must

// flip changes the byte at an offset of a file; a negative offset counts from the end.
func flip(t *testing.T, name string, at int) {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x10
	must(t, os.WriteFile(name, b, 0o666))
}

const files = 5

// prefix makes a prefix directory with datasets 1 to n. Their files f0, f1, ... have 1000 bytes.
func prefix(t *testing.T, n int) string {
	t.Helper()
	d := prefixdir.Open(nil, t.TempDir())
	must(t, d.Create())
	for id := 1; id <= n; id++ {
		name := fmt.Sprint("ckpt.", id)
		must(t, os.Mkdir(filepath.Join(d.Path, name), 0o777))
		var list []prefixdir.File
		for i := range files {
			b := slices.Repeat([]byte{byte(id*16 + i)}, 1000)
			f := prefixdir.File{Path: fmt.Sprintf("%s/f%d", name, i), Size: 1000, HasSize: true, CRC: crc32.ChecksumIEEE(b), HasCRC: true}
			must(t, os.WriteFile(filepath.Join(d.Path, f.Path), b, 0o666))
			list = append(list, f)
		}
		ds := prefixdir.Dataset{ID: id, Name: name, Ckpt: id, Checkpoint: true, Files: files, Size: files * 1000, Complete: true}
		must(t, d.Datasets.Create(id))
		must(t, d.Datasets.WriteMap(id, 1, func(int) ([]prefixdir.File, error) { return list, nil }))
		must(t, d.Datasets.WriteSummary(ds, true))
		must(t, d.Index.Update(t.Context(), func(x *prefixdir.Index) error {
			if err := x.Add(ds, true); err != nil {
				return err
			}
			return x.MarkFlushed(name, time.Unix(1e9, 0))
		}))
	}
	return d.Path
}

// look checks a prefix directory and returns the findings and the totals.
func look(t *testing.T, dir string, o check.Options) (all []check.Finding, seen check.Seen) {
	t.Helper()
	o.Seen = func(node int, s check.Seen) { seen = s }
	return slices.Collect(check.Prefix(t.Context(), dir, &o)), seen
}

func TestPrefix(t *testing.T) {
	dir := prefix(t, 2)
	if all, seen := look(t, dir, check.Options{}); len(all) != 0 || seen != (check.Seen{Datasets: 2, Files: 2 * files, Bytes: 2 * files * 1000, Verified: 2 * files * 1000}) {
		t.Errorf("a good one: %v, %+v", all, seen)
	}
	name := filepath.Join(dir, "ckpt.2", "f1")
	flip(t, name, 7)
	if all, seen := look(t, dir, check.Options{Quick: true}); len(all) != 0 || seen.Verified != 0 || seen.Bytes != 2*files*1000 {
		t.Errorf("a quick check read files: %v, %+v", all, seen)
	}
	if all, seen := look(t, dir, check.Options{Dataset: 1}); len(all) != 0 || seen.Datasets != 1 {
		t.Errorf("dataset 1: %v, %+v", all, seen)
	}
	all, seen := look(t, dir, check.Options{})
	if len(all) != 1 || seen.Verified != (2*files-1)*1000 {
		t.Fatalf("a flipped byte: %v, %+v", all, seen)
	}
	f := all[0]
	if f.Severity != check.Error || !f.Dataset.Is(2) || f.File != name || f.Offset != -1 || f.Field != "crc" || f.Found == f.Wanted || !errors.Is(f.Err, fault.ErrChecksum) {
		t.Errorf("%+v", f)
	}
	if want := fmt.Sprintf("error: %s: crc: %s, want %s (checksum mismatch)", name, f.Found, f.Wanted); f.String() != want {
		t.Errorf("%q, want %q", f, want)
	}
	must(t, os.Truncate(name, 10))
	if all, _ := look(t, dir, check.Options{Quick: true}); len(all) != 1 || all[0].Field != "size" || all[0].Found != "10" || all[0].Wanted != "1000" {
		t.Errorf("a short file: %v", all)
	}
	must(t, os.Remove(name))
	if all, _ := look(t, dir, check.Options{}); len(all) != 1 || all[0].Found != "absent" || !errors.Is(all[0].Err, fault.ErrMissing) {
		t.Errorf("a file that is gone: %v", all)
	}
}

// A finding about a damaged record gives the offset.
func TestPrefixOffset(t *testing.T) {
	dir := prefix(t, 1)
	name := filepath.Join(dir, ".scr", "index.scr")
	must(t, os.Truncate(name, 40))
	all, _ := look(t, dir, check.Options{})
	if len(all) != 1 || all[0].File != name || all[0].Offset != 8 || all[0].Field != "file size" || !errors.Is(all[0].Err, fault.ErrTruncated) {
		t.Errorf("%+v", all)
	}
}

// Findings about bytes come in the order of the files, even if files are read concurrently.
func TestPrefixOrder(t *testing.T) {
	dir := prefix(t, 3)
	var want []string
	for id := 3; id > 0; id-- { // the index lists the newest dataset first
		for i := range files {
			name := filepath.Join(dir, fmt.Sprint("ckpt.", id), fmt.Sprint("f", i))
			flip(t, name, i)
			want = append(want, name)
		}
	}
	for _, workers := range []int{1, 2, 8} {
		var got []string
		var most atomic.Int64
		for f := range check.Prefix(t.Context(), dir, &check.Options{Workers: workers, Progress: func(_ int, done, total int64) {
			if done > total || total != 3*files*1000 {
				t.Errorf("progress: %d of %d", done, total)
			}
			for at := most.Load(); done > at && !most.CompareAndSwap(at, done); at = most.Load() {
			}
		}}) {
			got = append(got, f.File)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers: %q, want %q", workers, got, want)
		}
		if most.Load() != 3*files*1000 {
			t.Errorf("%d workers: progress ended at %d", workers, most.Load())
		}
	}
}

// Findings about metadata are yielded before any file is read, and the caller can stop the check.
func TestPrefixStreams(t *testing.T) {
	dir := prefix(t, 2)
	must(t, os.Remove(filepath.Join(dir, "ckpt.1", "f0")))
	must(t, os.Remove(filepath.Join(dir, "ckpt.2", "f0")))
	must(t, os.Remove(filepath.Join(dir, "ckpt.2", "f3")))
	read := false
	o := &check.Options{Progress: func(int, int64, int64) { read = true }, Seen: func(int, check.Seen) { t.Error("told of the end of what was not looked at to its end") }}
	n := 0
	for f := range check.Prefix(t.Context(), dir, o) {
		if n++; read || f.Found != "absent" {
			t.Errorf("%v; files were read: %v", f, read)
		}
		break
	}
	if n != 1 || read {
		t.Errorf("%d findings; files were read: %v", n, read)
	}
	flip(t, filepath.Join(dir, "ckpt.2", "f1"), 0)
	flip(t, filepath.Join(dir, "ckpt.2", "f2"), 0)
	o.Progress = nil
	for f := range check.Prefix(t.Context(), dir, o) {
		if f.Field == "crc" {
			break
		}
	}
}

// A check that cannot be completed gives the reason in its last finding.
func TestPrefixLookError(t *testing.T) {
	dir := prefix(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		what string
		ctx  context.Context
		dir  string
		o    check.Options
		is   error
	}{
		{"no directory", t.Context(), filepath.Join(dir, "nowhere"), check.Options{}, fs.ErrNotExist},
		{"no dataset", t.Context(), dir, check.Options{Dataset: 7}, nil},
		{"interrupted", ctx, dir, check.Options{}, context.Canceled},
		{"interrupted, quick", ctx, dir, check.Options{Quick: true}, context.Canceled},
	} {
		c.o.Seen = func(int, check.Seen) { t.Errorf("%s: told of its end", c.what) }
		all := slices.Collect(check.Prefix(c.ctx, c.dir, &c.o))
		var why *check.LookError
		if len(all) == 0 || !errors.As(all[len(all)-1].Err, &why) || c.is != nil && !errors.Is(why, c.is) {
			t.Errorf("%s: %v", c.what, all)
		}
	}
}

// TestPrefixOverwritten checks that a file listed by two complete datasets is reported as an error of the older dataset, even
// if the maps have no sizes and checksums.
func TestPrefixOverwritten(t *testing.T) {
	dir := prefix(t, 3)
	d := prefixdir.Open(nil, dir)
	must(t, d.Datasets.WriteMap(1, 1, func(int) (list []prefixdir.File, _ error) {
		for i := range files {
			list = append(list, prefixdir.File{Path: fmt.Sprintf("ckpt.3/f%d", i)})
		}
		return list, nil
	}))
	all, seen := look(t, dir, check.Options{Quick: true})
	if len(all) != 1 || all[0].Severity != check.Error || all[0].Dataset != fault.Num(1) || filepath.Base(all[0].File) != "f0" || seen.Files != 2*files {
		t.Error(all, seen)
	}
}

// TestPrefixConstantNames checks that a dataset whose files a newer one has overwritten causes a single note.
func TestPrefixConstantNames(t *testing.T) {
	dir := prefix(t, 3)
	d := prefixdir.Open(nil, dir)
	must(t, d.Index.Update(t.Context(), func(x *prefixdir.Index) error {
		return errors.Join(x.SetComplete("ckpt.1", false), x.SetComplete("ckpt.2", false))
	}))
	must(t, d.Datasets.WriteMap(1, 1, func(int) (list []prefixdir.File, _ error) {
		for i := range files {
			list = append(list, prefixdir.File{Path: fmt.Sprintf("ckpt.3/f%d", i)})
		}
		return list, nil
	}))
	var got []string
	all, _ := look(t, dir, check.Options{Quick: true})
	for _, f := range all {
		if strings.HasSuffix(f.Field, "COMPLETE") {
			got = append(got, f.String())
		}
	}
	if len(got) != 2 || !strings.HasPrefix(got[0], "warning: ") || !strings.HasPrefix(got[1], "note: ") || !strings.Contains(got[0], `ckpt.2 was not finished`) || !strings.Contains(got[1], `overwritten: dataset 3 ckpt.3 now owns the file`) {
		t.Errorf("%q", got)
	}
}
