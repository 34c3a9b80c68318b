package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestOutside: a file is found by other processes through views of the operating system's file system, and is no other one that has its
// name later.
func TestOutside(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not tell files apart")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := errors.Join(os.WriteFile(name, []byte("abc"), 0o666), os.Symlink("f", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	bind := NewBind(NoSync(OS), []Bind{{At: "/at", To: dir}})
	for _, tc := range []struct {
		fs         FS
		name       string
		ok, noSync bool
	}{
		{OS, name, true, false},
		{NoSync(OS), name, true, true},
		{bind, "/at/f", true, true},
		{OS, name + "x", false, false},
		{OS, filepath.Join(dir, "link"), false, false},
		{OS, dir, false, false},
		{NewFault(OS, nil), name, false, false},
		{NewMem(), "/f", false, false},
	} {
		o, ok := OutsideOf(tc.fs, tc.name)
		if ok != tc.ok || ok && (o.Name != name || o.NoSync != tc.noSync) {
			t.Fatalf("%T, %s: %+v %v", tc.fs, tc.name, o, ok)
		}
		if !ok {
			continue
		}
		f, err := o.Open(true)
		if err != nil {
			t.Fatal(err)
		}
		if _, still := f.(noSyncFile); still != tc.noSync {
			t.Errorf("%T: %T", tc.fs, f)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o, _ := OutsideOf(OS, name)
	if err := errors.Join(os.WriteFile(name+".new", []byte("abc"), 0o666), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
	if f, err := o.Open(false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another file of the name: %v %v", f, err)
	}
}
