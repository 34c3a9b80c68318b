package vfs

import (
	"blobio/internal/base/testfiles"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// each runs a test on every file system, in its own directory.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("OS", func(t *testing.T) { test(t, OS, t.TempDir()) })
	t.Run("Mem", func(t *testing.T) { test(t, NewMem(), ".") })
	t.Run("MemDir", func(t *testing.T) {
		m := NewMem()
		if err := m.MkdirAll("/a/b/c"); err != nil {
			t.Fatal(err)
		}
		test(t, m, "/a/b/c")
	})
	t.Run("Fault", func(t *testing.T) { test(t, NewFault(OS, nil), t.TempDir()) })
}

var ok = testfiles.Must

func wantIs(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", what, err, target)
	}
}

func content(t *testing.T, fsys FS, name string) string {
	t.Helper()
	b, err := ReadFile(fsys, name, 1<<30)
	ok(t, err)
	return string(b)
}

func TestFile(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		f, err := fsys.Create(name)
		ok(t, err)
		if f.Name() != name {
			t.Errorf("Name() = %q", f.Name())
		}
		_, err = f.WriteAt([]byte("hello"), 5000) // leaves a hole before the offset
		ok(t, err)
		n, err := f.WritevAt([][]byte{[]byte("ab"), nil, []byte("c"), {}, []byte("def")}, 3)
		if n != 6 || err != nil {
			t.Fatalf("WritevAt: %d, %v", n, err)
		}
		size, err := f.Size()
		if size != 5005 || err != nil {
			t.Errorf("Size: %d, %v", size, err)
		}
		want := make([]byte, 5005)
		copy(want[3:], "abcdef")
		copy(want[5000:], "hello")
		got := make([]byte, 6000)
		k, err := f.ReadAt(got, 0)
		if k != 5005 || err != io.EOF || !bytes.Equal(got[:k], want) {
			t.Errorf("ReadAt: %d, %v", k, err)
		}
		if k, err := f.ReadAt(got[:5], 5000); k != 5 || err != nil && err != io.EOF {
			t.Errorf("ReadAt of the end: %d, %v", k, err)
		}
		if k, err := f.ReadAt(got[:1], 1<<40); k != 0 || err != io.EOF {
			t.Errorf("ReadAt behind the end: %d, %v", k, err)
		}
		ok(t, f.Truncate(4))
		ok(t, f.Truncate(10)) // truncated bytes do not reappear
		if s := content(t, fsys, name); s != "\x00\x00\x00a\x00\x00\x00\x00\x00\x00" {
			t.Errorf("after Truncate: %q", s)
		}
		ok(t, f.Allocate(0, 1<<20))
		if size, _ := f.Size(); size != 10 {
			t.Errorf("Allocate made the size %d", size)
		}
		ok(t, f.Allocate(10, 0))
		ok(t, f.Sync())
		ok(t, f.Close())
		wantIs(t, "second Close", f.Close(), fs.ErrClosed)
		_, err = f.WriteAt([]byte{1}, 0)
		wantIs(t, "write after Close", err, fs.ErrClosed)
		_, err = f.WritevAt([][]byte{{1}, {2}}, 0)
		if err == nil {
			t.Error("WritevAt after Close succeeds")
		}

		r, err := fsys.Open(name)
		ok(t, err)
		if _, err = r.WriteAt([]byte{1}, 0); err == nil {
			t.Error("a write to a file opened for reading succeeds")
		}
		ok(t, r.Close())
		w, err := fsys.OpenRW(name)
		ok(t, err)
		_, err = w.WriteAt([]byte("x"), 0)
		ok(t, err)
		if _, err := w.WriteAt([]byte("x"), -1); err == nil {
			t.Error("a write at -1 succeeds")
		}
		if _, err := w.WritevAt([][]byte{{1}, {2}}, -1); err == nil {
			t.Error("WritevAt at -1 succeeds")
		}
		if err := w.Allocate(-1, 5); err == nil {
			t.Error("Allocate at -1 succeeds")
		}
		ok(t, w.Close())
		if s := content(t, fsys, name); s[0] != 'x' {
			t.Errorf("OpenRW: %q", s)
		}
	})
}

func TestTree(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		p := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
		ok(t, fsys.Mkdir(p("d")))
		wantIs(t, "Mkdir again", fsys.Mkdir(p("d")), fs.ErrExist)
		wantIs(t, "Mkdir without parent", fsys.Mkdir(p("x", "y")), fs.ErrNotExist)
		ok(t, fsys.MkdirAll(p("d", "e", "f")))
		ok(t, fsys.MkdirAll(p("d", "e")))
		ok(t, WriteFile(fsys, p("d", "one"), []byte("1")))
		ok(t, WriteFile(fsys, p("d", "two"), []byte("22")))
		wantIs(t, "WriteFile again", WriteFile(fsys, p("d", "two"), nil), fs.ErrExist)
		if s := content(t, fsys, p("d", "two")); s != "22" {
			t.Errorf("it harmed the file: %q", s)
		}
		_, err := fsys.Create(p("d", "two"))
		wantIs(t, "Create again", err, fs.ErrExist)
		_, err = fsys.Open(p("none"))
		wantIs(t, "Open", err, fs.ErrNotExist)
		_, err = fsys.OpenRW(p("none"))
		wantIs(t, "OpenRW", err, fs.ErrNotExist)
		_, err = fsys.Stat(p("none"))
		wantIs(t, "Stat", err, fs.ErrNotExist)
		_, err = fsys.ReadDir(p("none"))
		wantIs(t, "ReadDir", err, fs.ErrNotExist)
		wantIs(t, "Remove", fsys.Remove(p("none")), fs.ErrNotExist)
		wantIs(t, "Rename", fsys.Rename(p("none"), p("n")), fs.ErrNotExist)
		wantIs(t, "SyncDir", fsys.SyncDir(p("none")), fs.ErrNotExist)
		if err := fsys.Remove(p("d")); err == nil {
			t.Error("Remove of a full directory succeeds")
		}
		if err := fsys.Rename(p("d"), p("d", "inside")); err == nil {
			t.Error("Rename of a directory into itself succeeds")
		}
		if _, err := fsys.Create(p("d", "one", "x")); err == nil {
			t.Error("Create under a file succeeds")
		}
		if err := fsys.MkdirAll(p("d", "one", "x")); err == nil {
			t.Error("MkdirAll under a file succeeds")
		}

		ok(t, fsys.Rename(p("d", "one"), p("d", "two"))) // replaces
		ok(t, fsys.Rename(p("d", "two"), p("three")))    // into another directory
		if s := content(t, fsys, p("three")); s != "1" {
			t.Errorf("renamed: %q", s)
		}
		ok(t, fsys.Rename(p("three"), p("three")))
		st, err := fsys.Stat(p("three"))
		ok(t, err)
		if st.Name() != "three" || st.Size() != 1 || st.IsDir() || !st.Mode().IsRegular() || st.ModTime().IsZero() {
			t.Errorf("Stat: %v", fs.FormatFileInfo(st))
		}
		st, err = fsys.Stat(p("d"))
		ok(t, err)
		if !st.IsDir() {
			t.Errorf("Stat: %v", fs.FormatFileInfo(st))
		}
		list, err := fsys.ReadDir(dir)
		ok(t, err)
		var names []string
		for _, e := range list {
			s := e.Name()
			if e.IsDir() {
				s += "/"
			}
			names = append(names, s)
		}
		if s := strings.Join(names, " "); s != "d/ three" {
			t.Errorf("ReadDir: %s", s)
		}
		ok(t, fsys.SyncDir(dir))
		ok(t, SyncParent(fsys, p("three")))
		ok(t, fsys.Remove(p("d", "e", "f")))
		ok(t, fsys.Remove(p("three")))
		_, err = ReadFile(fsys, p("d"), 1)
		if err == nil {
			t.Error("ReadFile of a directory succeeds")
		}
		ok(t, WriteFile(fsys, p("big"), make([]byte, 100)))
		if _, err := ReadFile(fsys, p("big"), 99); err == nil {
			t.Error("ReadFile over the limit succeeds")
		}
	})
}

// TestOpenRemoved: handles of a removed or replaced file stay usable (not on Windows).
func TestOpenRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: open files cannot be removed on windows")
	}
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		f, err := fsys.Create(name)
		ok(t, err)
		ok(t, fsys.Remove(name))
		_, err = f.WriteAt([]byte("still"), 0)
		ok(t, err)
		b := make([]byte, 5)
		if _, err := f.ReadAt(b, 0); err != nil || string(b) != "still" {
			t.Errorf("%q, %v", b, err)
		}
		ok(t, f.Close())
	})
}

// TestWritevMany writes more slices than one system call accepts, with odd lengths.
func TestWritevMany(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		var bufs [][]byte
		var want []byte
		for i := range 5000 {
			b := bytes.Repeat([]byte{byte(i)}, i%7*(i%11))
			bufs = append(bufs, b)
			want = append(want, b...)
		}
		f, err := fsys.Create(filepath.Join(dir, "f"))
		ok(t, err)
		defer f.Close()
		n, err := f.WritevAt(bufs, 13)
		if n != int64(len(want)) || err != nil {
			t.Fatalf("%d, %v; want %d", n, err, len(want))
		}
		if s := content(t, fsys, f.Name()); s[13:] != string(want) {
			t.Error("wrong bytes")
		}
		for i, b := range bufs {
			if len(b) != i%7*(i%11) {
				t.Fatal("the slice headers were changed")
			}
		}
	})
}

// TestConcurrent runs writers of disjoint ranges and a reader of one file at the same time.
func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f, err := fsys.Create(filepath.Join(dir, "f"))
		ok(t, err)
		defer f.Close()
		const writers, blocks, size = 8, 50, 1000
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range blocks {
					b := bytes.Repeat([]byte{byte(1 + w)}, size)
					if _, err := f.WritevAt([][]byte{b[:size/3], b[size/3:]}, int64((i*writers+w)*size)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			b := make([]byte, size)
			for range 50 {
				if _, err := f.ReadAt(b, 3*size); err != nil && err != io.EOF {
					t.Error(err)
				}
				if m, ok := fsys.(*Mem); ok {
					m.CrashClone(CrashOptions{})
				}
			}
		})
		wg.Wait()
		s := content(t, fsys, f.Name())
		for i := range s {
			if want := byte(1 + i/size%writers); s[i] != want {
				t.Fatalf("byte %d is %d, want %d", i, s[i], want)
			}
		}
	})
}

func TestOSErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	ok(t, os.WriteFile(name, nil, 0o666))
	f, err := OS.Open(name)
	ok(t, err)
	defer f.Close()
	_, err = f.WritevAt([][]byte{{1}, {2}}, 0) // not open for writing
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != name {
		t.Errorf("%v", err)
	}
}

func TestWritevHuge(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || !strings.Contains(runtime.GOARCH, "64") {
		t.Skip("SKIPPED: 2.5 GiB through a sparse buffer, on 64-bit linux only")
	}
	f, err := OS.OpenRW(os.DevNull)
	ok(t, err)
	defer f.Close()
	huge := make([]byte, gibi+5) // never touched, so it uses no memory
	n, err := f.WritevAt([][]byte{huge[:7], huge, huge[:9], huge[:len(huge)/2], huge[:len(huge)/2], huge[:1]}, 0)
	if want := int64(7 + len(huge) + 9 + len(huge)/2*2 + 1); n != want || err != nil {
		t.Errorf("wrote %d, %v; want %d", n, err, want)
	}
}

const gibi = 1 << 30 // the maximum of one write call
