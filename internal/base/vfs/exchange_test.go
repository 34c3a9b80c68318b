package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
)

// TestExchange: two non-empty directories are exchanged in one step, even at a power cut.
func TestExchange(t *testing.T) {
	for name, fsys := range map[string]FS{"os": OS, "mem": NewMem(), "fault": NewFault(NewMem(), nil), "nosync": NoSync(NewMem())} {
		t.Run(name, func(t *testing.T) {
			dir := "/d"
			if name == "os" {
				dir = t.TempDir()
				if runtime.GOOS != "linux" {
					t.Skip("SKIPPED: no exchange on this system")
				}
			} else if err := fsys.Mkdir(dir); err != nil {
				t.Fatal(err)
			}
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			for _, d := range []string{a, b} {
				if err := errors.Join(fsys.Mkdir(d), WriteFile(fsys, filepath.Join(d, "f"), []byte(filepath.Base(d)))); err != nil {
					t.Fatal(err)
				}
			}
			if err := Exchange(fsys, a, b); errors.Is(err, errors.ErrUnsupported) && name == "os" {
				t.Skipf("SKIPPED: the file system of %s cannot exchange", dir)
			} else if err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{a, b} {
				got, err := ReadFile(fsys, filepath.Join(d, "f"), 10)
				if err != nil || string(got) == filepath.Base(d) {
					t.Errorf("%s has %q, %v", d, got, err)
				}
			}
			if err := Exchange(fsys, a, filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("with nothing: %v", err)
			}
		})
	}
	if err := Exchange(struct{ FS }{NewMem()}, "/a", "/b"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file system without: %v", err)
	}
}

// TestExchangeCrash: a power cut undoes an exchange before the sync of the directory, and not afterwards.
func TestExchangeCrash(t *testing.T) {
	m := NewMem()
	for _, d := range []string{"/a", "/b"} {
		if err := errors.Join(m.Mkdir(d), WriteFile(m, d+"/f", []byte(d)), m.SyncDir(d)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		after := m.CrashClone(CrashOptions{})
		a, _ := ReadFile(after, "/a/f", 10)
		b, _ := ReadFile(after, "/b/f", 10)
		if got := string(a) + string(b); got != want {
			t.Errorf("after a power cut %q, want %q", got, want)
		}
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	if err := Exchange(m, "/a", "/b"); err != nil {
		t.Fatal(err)
	}
	check("/a/b")
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	check("/b/a")
}
