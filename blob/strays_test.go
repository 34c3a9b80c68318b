package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// strays are files of a user, under names that subfiles could have.
func strays(t *testing.T, fsys vfs.FS, m *model) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"d.nc.2024": []byte("notes"), "d.nc.20240131": m.canonical(false), "d.nc.0007": nil, "d.nc+1.1999": []byte("CDF")}
	for name, b := range files {
		must(vfs.WriteFile(fsys, name, b))
	}
	must(fsys.Mkdir("d.nc.0009"))
	return files
}

func untouched(t *testing.T, what string, fsys vfs.FS, files map[string][]byte) {
	t.Helper()
	for name, want := range files {
		if b, err := slurp(fsys, name); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %s: %v", what, name, err)
		}
	}
	if _, err := fsys.Stat("d.nc.0009"); err != nil {
		t.Errorf("%s: the directory: %v", what, err)
	}
	for f := range Check(context.Background(), "d.nc", &CheckOptions{fs: fsys}) {
		if _, is := files[f.File]; is || f.Severity == Error {
			t.Errorf("%s: check says %v", what, f)
		}
	}
	if steps, err := Recover(context.Background(), "d.nc", &RecoverOptions{fs: fsys, DryRun: true}); err != nil || len(steps) > 0 {
		t.Errorf("%s: recover would do %v, %v", what, steps, err)
	}
}

// TestStrays: a file that is no subfile is never taken for one, nor removed, whatever its name.
func TestStrays(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		for _, mode := range []CommitMode{CommitRename, CommitManifestOnly} {
			mem := vfs.NewMem()
			was, now := tinyModel(1, 1), tinyModel(2, 1)
			files := strays(t, mem, was)
			subfiles := func(n int) *Options { return &Options{fs: mem, Layout: layout, Subfiles: n, CommitMode: mode} }
			holds := func(what string, m *model, n int) {
				t.Helper()
				untouched(t, what, mem, files)
				if got, err := canonicalOf(mem, "d.nc"); err != nil || !bytes.Equal(got, m.canonical(false)) {
					t.Errorf("%s: %v", what, err)
				}
				for i := range 5 {
					if _, err := mem.Stat(subfile.Name("d.nc", i)); (err == nil) != (i < n) {
						t.Errorf("%s: subfile %d: %v", what, i, err)
					}
				}
			}
			was.writeTo(t, mem, subfiles(4))
			holds("create", was, 4)
			left, err := slurp(mem, "d.nc.0003")
			must(err)
			force := subfiles(2)
			force.Force = true
			now.writeTo(t, mem, force)
			holds("replace", now, 2)
			// A subfile of the dataset before is one that the manifest does not list: check says so, and recover removes it.
			must(vfs.WriteFile(mem, "d.nc.0003", left))
			if !slices.ContainsFunc(slices.Collect(Check(ctx, "d.nc", &CheckOptions{fs: mem})), func(f Finding) bool {
				return f.Severity == Warning && f.File == "d.nc.0003"
			}) {
				t.Error("a subfile that is left over: no warning")
			}
			if steps, err := Recover(ctx, "d.nc", &RecoverOptions{fs: mem}); err != nil || len(steps) != 1 {
				t.Errorf("a subfile that is left over: %v, %v", steps, err)
			}
			holds("recovered", now, 2)
			now = now.upTo(2)
			must(run(now.ranks, func(ctx context.Context, c comm.Comm) error { return now.add(ctx, c, "d.nc", subfiles(2)) }))
			holds("append", now, 2)
			if _, err := Recover(ctx, "d.nc", &RecoverOptions{fs: mem}); err != nil {
				t.Error(err)
			}
			holds("recover", now, 2)
			// A file whose record is damaged too, and which the record in force before the replacement lists.
			f, err := mem.OpenRW("d.nc.0001")
			must(err)
			_, err = f.WriteAt(make([]byte, 64), 0)
			must(errors.Join(err, f.Close()))
			force.Subfiles = 1
			was.writeTo(t, mem, force)
			holds("replaced, damaged", was, 1)
		}
	}
}

// TestStraysForeign: beside a dataset of another program too, which Force replaces with all of its subfiles.
func TestStraysForeign(t *testing.T) {
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		mem := vfs.NewMem()
		was, now := tinyModel(1, 1), tinyModel(2, 1)
		was.writeTo(t, mem, &Options{fs: mem, Layout: layout, Subfiles: 4})
		must(mem.Remove(subfile.ManifestName("d.nc")))
		files := strays(t, mem, was)
		if got, err := canonicalOf(mem, "d.nc"); err != nil || !bytes.Equal(got, was.canonical(false)) {
			t.Errorf("%v: %v", layout, err)
		}
		untouched(t, "foreign", mem, files)
		err := run(now.ranks, func(ctx context.Context, c comm.Comm) error {
			return now.create(ctx, c, "d.nc", &Options{fs: mem, Layout: layout})
		})
		if !errors.Is(err, ErrExist) {
			t.Errorf("%v: without Force: %v", layout, err)
		}
		now.writeTo(t, mem, &Options{fs: mem, Layout: layout, Subfiles: 2, Force: true})
		untouched(t, "replaced", mem, files)
		if got, err := canonicalOf(mem, "d.nc"); err != nil || !bytes.Equal(got, now.canonical(false)) {
			t.Errorf("%v, replaced: %v", layout, err)
		}
		for _, n := range []string{"d.nc.0002", "d.nc.0003"} {
			if _, err := mem.Stat(n); err == nil {
				t.Errorf("%v: %s is left of what was replaced", layout, n)
			}
		}
	}
}

// TestStraysUnfinished: of a writer that died, what its announcement lists goes, whatever it holds by then, and no more.
func TestStraysUnfinished(t *testing.T) {
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		start := vfs.NewMem()
		m := tinyModel(1, 1)
		files := strays(t, start, m)
		must(start.SyncDir("."))
		for name := range files {
			f, err := start.OpenRW(name)
			must(err)
			must(errors.Join(f.Sync(), f.Close()))
		}
		for _, c := range crashes(t, start, 3, 1, func(fsys vfs.FS) error {
			return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				return m.create(ctx, c, "d.nc", &Options{fs: fsys, Layout: layout, Subfiles: 2, CommitMode: CommitManifestOnly})
			})
		}) {
			if _, err := Recover(context.Background(), "d.nc", &RecoverOptions{fs: c.fs}); err != nil {
				t.Fatalf("%s: %v", c.when, err)
			}
			for name, want := range files {
				if b, err := slurp(c.fs, name); err != nil || !bytes.Equal(b, want) {
					t.Fatalf("%s: %s: %v", c.when, name, err)
				}
			}
			l := fmt.Sprint(names(c.fs, "."))
			if _, err := canonicalOf(c.fs, "d.nc"); err != nil && slices.ContainsFunc([]string{".0000", ".0001", "partial", "manifest", "lock"}, func(s string) bool { return strings.Contains(l, s) }) {
				t.Fatalf("%s: %v, and left is %v", c.when, err, l)
			}
		}
	}
}
