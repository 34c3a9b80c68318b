package durable

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

func writeDir(fsys vfs.FS, text string, replace bool) error {
	o := DirOptions{}
	if replace {
		o.Replace = func(string) error { return nil }
	}
	out, err := NewOutputDir(context.Background(), fsys, "d.zarr", o)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := errors.Join(out.Write("a", []byte(text)), out.Mkdir("sub"), FilesIn(fsys, out.Temp(), true).Write("sub/b", []byte(text))); err != nil {
		return err
	}
	return out.Commit()
}

// dirState returns the text of both files of d.zarr, or "" if it is missing.
func dirState(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	if _, err := fsys.Stat("d.zarr"); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return content(t, fsys, "d.zarr/a") + "+" + content(t, fsys, "d.zarr/sub/b")
}

// TestOutputDir: an existing name stays unless it is a directory that may be replaced.
func TestOutputDir(t *testing.T) {
	mem := vfs.NewMem()
	must(t, writeDir(mem, "one", false))
	if err := writeDir(mem, "two", false); !errors.Is(err, fault.ErrExist) || dirState(t, mem) != "one+one" {
		t.Fatalf("without Replace: %v, %s", err, dirState(t, mem))
	}
	must(t, writeDir(mem, "three", true))
	if got := dirState(t, mem); got != "three+three" || listing(t, mem, "d.zarr") != "[d.zarr]" {
		t.Fatalf("%s, %s", got, listing(t, mem, "d.zarr"))
	}
	no := errors.New("no store")
	if _, err := NewOutputDir(context.Background(), mem, "d.zarr", DirOptions{Replace: func(string) error { return no }}); !errors.Is(err, no) {
		t.Errorf("what may not be replaced: %v", err)
	}
	must(t, vfs.WriteFile(mem, "f.zarr", nil))
	if _, err := NewOutputDir(context.Background(), mem, "f.zarr", DirOptions{Replace: func(string) error { return nil }}); !errors.Is(err, ErrKept) {
		t.Errorf("a file: %v", err)
	}
	a := need(NewOutputDir(context.Background(), mem, "e.zarr", DirOptions{}))
	if _, err := NewOutputDir(context.Background(), mem, "e.zarr", DirOptions{}); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("a second writer: %v", err)
	}
	a.Discard()
	if err := a.Commit(); !errors.Is(err, fault.ErrBroken) || listing(t, mem, "d.zarr") != "[d.zarr f.zarr]" {
		t.Errorf("after Discard: %v, %s", err, listing(t, mem, "d.zarr"))
	}
	for _, name := range []string{"", ".", "..", "/"} {
		if _, err := NewOutputDir(context.Background(), mem, name, DirOptions{}); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOutputDirNoExchange: without an atomic exchange a directory is not replaced.
func TestOutputDirNoExchange(t *testing.T) {
	mem := vfs.NewMem()
	must(t, writeDir(mem, "one", false))
	plain := struct{ vfs.FS }{mem}
	if err := writeDir(plain, "two", true); !errors.Is(err, errors.ErrUnsupported) || dirState(t, mem) != "one+one" || listing(t, mem, "d.zarr") != "[d.zarr]" {
		t.Errorf("%v, %s, %s", err, dirState(t, mem), listing(t, mem, "d.zarr"))
	}
}

// TestOutputDirCrash: after a power cut at any operation, the name has the whole old or the whole new directory. The next writer
// is not blocked and leaves no other files.
func TestOutputDirCrash(t *testing.T) {
	for _, old := range []string{"", "old+old"} {
		mem := vfs.NewMem()
		if old != "" {
			must(t, writeDir(mem, "old", false))
		}
		sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Torn: 2, Run: crashtest.One(func(fsys vfs.FS) error { return writeDir(fsys, "new", true) })}
		for _, cut := range sc.Cuts(t) {
			c := cut.Mem[0]
			got := dirState(t, c)
			if got != old && got != "new+new" || cut.Last && got != "new+new" {
				t.Fatalf("%s: %q", cut.When, got)
			}
			must(t, writeDir(c, "next", true))
			if got := dirState(t, c); got != "next+next" || listing(t, c, "d.zarr") != "[d.zarr]" {
				t.Fatalf("after %s: %q, %s", cut.When, got, listing(t, c, "d.zarr"))
			}
		}
	}
}

// TestOutputDirFaults: each operation fails once. After any error other than an UnsureError, the old directory is intact.
func TestOutputDirFaults(t *testing.T) {
	boom := errors.New("boom")
	for _, old := range []string{"", "old+old"} {
		mem := vfs.NewMem()
		if old != "" {
			must(t, writeDir(mem, "old", false))
		}
		must(t, errors.Join(mem.Mkdir(".d.zarr.0123abcd.partial"), vfs.WriteFile(mem, filepath.Join(".d.zarr.0123abcd.partial", "x"), nil), mem.SyncDir(".")))
		sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Run: crashtest.One(func(fsys vfs.FS) error { return writeDir(fsys, "new", true) })}
		for f := range sc.Faults(t, crashtest.Fails(boom)) {
			mem, err, when := f.Mem[0], f.Err, f.When
			switch got := dirState(t, mem); {
			case err == nil && got != "new+new", err != nil && !errors.Is(err, boom):
				t.Fatalf("%s: %q, %v", when, got, err)
			case errors.As(err, new(*UnsureError)):
				if got != "new+new" {
					t.Errorf("%s: %q, %v", when, got, err)
				}
			case err != nil && got != old:
				t.Errorf("%s: %q, %v", when, got, err)
			}
			must(t, writeDir(mem, "next", true)) // no lock blocks it
			if l := listing(t, mem, "d.zarr"); l != "[d.zarr]" {
				t.Errorf("%s: left: %s", when, l)
			}
		}
	}
}
