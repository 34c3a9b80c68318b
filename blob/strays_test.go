package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// strays creates files of a user, with names that subfiles could have.
func strays(t *testing.T, fsys vfs.FS, m *model) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"d.nc.2024": []byte("notes"), "d.nc.20240131": m.canonical(false), "d.nc.999999999": []byte("?"), "d.nc.0007": nil, "d.nc+1.1999": []byte("CDF")}
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
	for f := range check.CheckWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: fsys}) {
		if _, is := files[f.File]; is || f.Severity >= dataset.Error {
			t.Errorf("%s: check says %v", what, f)
		}
	}
	if steps, err := resume.RecoverWith(context.Background(), "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: fsys}); err != nil || len(steps) > 0 {
		t.Errorf("%s: recover would do %v, %v", what, steps, err)
	}
}

// TestStrays checks that no call takes a user's files for subfiles or removes them, whatever their names are.
func TestStrays(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, mode := range []int{dataset.CommitRename, dataset.CommitManifestOnly} {
			mem := vfs.NewMem()
			was, now := tinyModel(1, 1), tinyModel(2, 1)
			files := strays(t, mem, was)
			subfiles := func(n int) *dataset.Settings {
				return &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: n, Renames: mode}, Knobs: dataset.Knobs{Fs: mem}}
			}
			holds := func(what string, m *model, n int) {
				t.Helper()
				untouched(t, what, mem, files)
				readsAs(t, what, mem, "d.nc", m)
				for i := range 5 {
					if _, err := mem.Stat(subfile.Name("d.nc", i)); (err == nil) != (i < n) {
						t.Errorf("%s: subfile %d: %v", what, i, err)
					}
				}
			}
			was.writeTo(t, mem, subfiles(4))
			holds("create", was, 4)
			left := need(slurp(mem, "d.nc.0003"))
			force := subfiles(2)
			force.Force = true
			now.writeTo(t, mem, force)
			holds("replace", now, 2)
			// A subfile of the previous dataset is not in the manifest. Check must report this file, and Recover must remove it.
			must(vfs.WriteFile(mem, "d.nc.0003", left))
			if !slices.ContainsFunc(slices.Collect(check.CheckWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})), func(f dataset.Finding) bool {
				return f.Severity == dataset.Warning && f.File == "d.nc.0003"
			}) {
				t.Error("a subfile that is left over: no warning")
			}
			if steps, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}); err != nil || len(steps) != 1 {
				t.Errorf("a subfile that is left over: %v, %v", steps, err)
			}
			holds("recovered", now, 2)
			now = now.upTo(2)
			must(run(now.ranks, func(ctx context.Context, c comm.Comm) error { return now.add(ctx, c, "d.nc", subfiles(2)) }))
			holds("append", now, 2)
			if _, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}); err != nil {
				t.Error(err)
			}
			holds("recover", now, 2)
			// The manifest lists this file, so a replacement must remove it although its header is damaged.
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

// TestStraysForeign is TestStrays with a dataset of another program, without a manifest. With Force all its subfiles are
// replaced.
func TestStraysForeign(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := vfs.NewMem()
		was, now := tinyModel(1, 1), tinyModel(2, 1)
		was.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 4}, Knobs: dataset.Knobs{Fs: mem}})
		must(mem.Remove(subfile.ManifestName("d.nc")))
		files := strays(t, mem, was)
		readsAs(t, layout, mem, "d.nc", was)
		untouched(t, "foreign", mem, files)
		err := run(now.ranks, func(ctx context.Context, c comm.Comm) error {
			return now.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Layout: layout}, Knobs: dataset.Knobs{Fs: mem}})
		})
		if !errors.Is(err, dataset.ErrExist) {
			t.Errorf("%v: without Force: %v", layout, err)
		}
		now.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Force: true}, Knobs: dataset.Knobs{Fs: mem}})
		untouched(t, "replaced", mem, files)
		readsAs(t, fmt.Sprintf("%v, replaced", layout), mem, "d.nc", now)
		for _, n := range []string{"d.nc.0002", "d.nc.0003"} {
			if _, err := mem.Stat(n); err == nil {
				t.Errorf("%v: %s is left of what was replaced", layout, n)
			}
		}
	}
}

// TestStraysUnfinished checks that Recover removes exactly the files that a dead writer has announced.
func TestStraysUnfinished(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		start := vfs.NewMem()
		m := tinyModel(1, 1)
		files := strays(t, start, m)
		must(start.SyncDir("."))
		for _, c := range crashes(t, start, 3, 1, func(fsys vfs.FS) error {
			return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				return m.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Renames: dataset.CommitManifestOnly}, Knobs: dataset.Knobs{Fs: fsys}})
			})
		}) {
			if _, err := resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: c.fs}); err != nil {
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

// TestStraysTorn checks that an announcement that a power cut has damaged does not lead to the removal of another program's
// files.
func TestStraysTorn(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, torn := range []string{"", "{\"format\":\"blobio", strings.Repeat("\x00", 300)} {
			mem := vfs.NewMem()
			was := tinyModel(1, 1)
			was.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
			must(mem.Remove(subfile.ManifestName("d.nc")))
			must(vfs.WriteFile(mem, subfile.NextName("d.nc"), []byte(torn)))
			for _, dry := range []bool{true, false} {
				if steps, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: dry}, dataset.Knobs{Fs: mem}); err != nil || len(steps) != 1 || steps[0].File != subfile.NextName("d.nc") {
					t.Errorf("%v, %.10q: %v, %v", layout, torn, steps, err)
				}
			}
			readsAs(t, fmt.Sprintf("%v, %.10q", layout, torn), mem, "d.nc", was)
		}
	}
}

// TestStraysInTheWay checks that a user's file with the name of a planned subfile is not taken for a file of the dead writer,
// if the writer's own files had partial names. An append must not replace the file either.
func TestStraysInTheWay(t *testing.T) {
	notes := []byte("notes")
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		start := vfs.NewMem()
		m := tinyModel(1, 1)
		m.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 1}, Knobs: dataset.Knobs{Fs: start}})
		must(vfs.WriteFile(start, "d.nc.0001", notes))
		must(start.SyncDir("."))
		kept := 0
		for _, c := range crashes(t, start, 3, 1, func(fsys vfs.FS) error {
			return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				return m.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Force: true}, Knobs: dataset.Knobs{Fs: fsys}})
			})
		}) {
			if r, err := read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: c.fs}); err != nil {
				t.Fatalf("%s: %v", c.when, err)
			} else if n := len(r.Data.Sets[0].Parts); r.Close() != nil || n == 2 {
				continue // committed
			}
			kept++
			if _, err := resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: c.fs}); err != nil {
				t.Fatalf("%s: %v", c.when, err)
			}
			if b, err := slurp(c.fs, "d.nc.0001"); err != nil || !bytes.Equal(b, notes) {
				t.Fatalf("%v, %s: %v", layout, c.when, err)
			}
		}
		if kept == 0 && !raceEnabled { // with the race detector the sample is small
			t.Errorf("%v: no writer died before its commit", layout)
		}
	}
	for _, mode := range []int{dataset.CommitRename, dataset.CommitManifestOnly} {
		mem := vfs.NewMem()
		m := tinyModel(1, 1)
		o := &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Renames: mode}, Knobs: dataset.Knobs{Fs: mem}}
		m.writeTo(t, mem, o)
		must(vfs.WriteFile(mem, "d.nc+1.0001", notes))
		err := run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.upTo(2).add(ctx, c, "d.nc", o) })
		if !errors.Is(err, dataset.ErrExist) || errors.Is(err, dataset.ErrInUse) {
			t.Errorf("append over a file: %v", err)
		}
		if b, err := slurp(mem, "d.nc+1.0001"); err != nil || !bytes.Equal(b, notes) {
			t.Errorf("append over a file: %v", err)
		}
		readsAs(t, "append over a file", mem, "d.nc", m)
	}
}

// TestNameOfAppendedSet checks that no new dataset can get a name like d.nc+1, which an append gives to a set. An existing
// dataset with such a name is separate from d.nc.
func TestNameOfAppendedSet(t *testing.T) {
	mem := vfs.NewMem()
	a, b := tinyModel(1, 1), tinyModel(2, 1)
	o := &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}}
	if err := run(b.ranks, func(ctx context.Context, c comm.Comm) error { return b.create(ctx, c, "d.nc+1", o) }); !errors.Is(err, dataset.ErrUsage) {
		t.Errorf("create: %v", err)
	}
	a.writeTo(t, mem, o)
	r := opened(t, mem, "d.nc", nil)
	if err := convert.ConvertWith(context.Background(), comm.Self(), r, "d.nc+1", &convert.ConvertOptions{Blobs: true}, dataset.Knobs{Fs: mem}); !errors.Is(err, dataset.ErrUsage) {
		t.Errorf("convert: %v", err)
	}
	// Older versions could make a dataset with such a name.
	for i := range 2 {
		content := need(slurp(mem, subfile.Name("d.nc", i)))
		must(vfs.WriteFile(mem, subfile.Name("d.nc+1", i), content))
	}
	st := need(subfile.ReadState(mem, "d.nc"))
	m := *st.Manifest
	m.Base = "d.nc+1"
	m.Sets[0].Base = m.Base
	content := need(m.Encode())
	must(vfs.WriteFile(mem, subfile.ManifestName(m.Base), content))
	must(vfs.WriteFile(mem, "d.nc+1.0002.w1a2b3c4d.partial", nil)) // a file of another writer
	before := names(mem, ".")
	if steps, err := resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem}); err != nil || len(steps) > 0 {
		t.Errorf("recover: %v, %v", steps, err)
	}
	if after := names(mem, "."); !slices.Equal(after, before) {
		t.Errorf("recover: %v, want %v", after, before)
	}
	readsAs(t, "the other dataset", mem, m.Base, a)
}
