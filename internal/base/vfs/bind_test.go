package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestBindReal(t *testing.T) {
	b := NewBind(NewMem(), []Bind{{"", "/none"}, {"/nodelocal", "/n/0"}, {"/nodelocal/ssd/", "/s/0"}, {"/dev/shm", "/n/0/shm"}})
	for _, c := range [][2]string{
		{"/nodelocal", "/n/0"}, {"/nodelocal/", "/n/0"}, {"/nodelocal/a/b", "/n/0/a/b"}, {"/nodelocal//a/./b", "/n/0/a/b"},
		{"/nodelocal/../x", "/nodelocal/../x"}, {"/nodelocals/a", "/nodelocals/a"}, {"/nodelocal/ssd", "/s/0"},
		{"/nodelocal/ssd/f", "/s/0/f"}, {"/nodelocal/ssds/f", "/n/0/ssds/f"}, {"/dev/shm/x", "/n/0/shm/x"},
		{"/p/prefix/f", "/p/prefix/f"}, {"nodelocal/f", "nodelocal/f"}, {"/n/0/f", "/n/0/f"},
	} {
		if got := filepath.ToSlash(b.Real(c[0])); got != c[1] {
			t.Errorf("Real(%q) = %q, want %q", c[0], got, c[1])
		}
	}
	work := NewBind(NewMem(), []Bind{{".", "/w"}, {"local", "/n"}})
	for _, c := range [][2]string{{"a/b", "/w/a/b"}, {".", "/w"}, {".a", "/w/.a"}, {"local/a", "/n/a"}, {"/a", "/a"}} {
		if got := filepath.ToSlash(work.Real(c[0])); got != c[1] {
			t.Errorf("Real(%q) = %q, want %q", c[0], got, c[1])
		}
	}
	root := NewBind(NewMem(), []Bind{{"/", "/jail"}})
	if got := filepath.ToSlash(root.Real("/a/b")); got != "/jail/a/b" {
		t.Errorf("below a bound root: %q", got)
	}
}

func TestBindIsFS(t *testing.T) {
	m := NewMem()
	for _, d := range []string{"/n0", "/n1", "/p"} {
		if err := m.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	node := func(dir string) *BindFS { return NewBind(m, []Bind{{"/local", dir}}) }
	a, b := node("/n0"), node("/n1")
	if err := a.MkdirAll("/local/x/y"); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(a, "/local/x/y/f", []byte("of a")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Stat("/local/x/y/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the other node sees it: %v", err)
	}
	if got, err := ReadFile(m, "/n0/x/y/f", 10); err != nil || string(got) != "of a" {
		t.Fatalf("below: %q, %v", got, err)
	}
	f, err := a.OpenRW("/local/x/y/f")
	if err != nil || f.Name() != "/local/x/y/f" {
		t.Fatalf("name %v, %v", f, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Rename("/local/x/y/f", "/p/f"); err != nil { // from a bind to an ordinary name
		t.Fatal(err)
	}
	if err := b.Rename("/p/f", "/local/f"); err != nil { // from an ordinary name into a bind
		t.Fatal(err)
	}
	at := time.Unix(1e9, 0)
	if err := b.SetFileMeta("/local/f", Meta{Mode: 0o640, Mtime: at, Atime: at}); err != nil {
		t.Fatal(err)
	}
	if meta, err := MetaOf(b, "/local/f"); err != nil || meta.Mode&0o777 != 0o640 || !meta.Mtime.Equal(at) {
		t.Fatalf("meta %+v, %v", meta, err)
	}
	list, err := b.ReadDir("/local")
	if err != nil || len(list) != 1 || list[0].Name() != "f" {
		t.Fatalf("list %v, %v", list, err)
	}
	if err := errors.Join(b.SyncDir("/local"), b.Mkdir("/local/d"), b.Remove("/local/d"), b.Remove("/local/f")); err != nil {
		t.Fatal(err)
	}
}

// A file of the operating system must still give access to its descriptor, because locks need it.
func TestBindKeepsDescriptor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := NewBind(OS, []Bind{{"/local", dir}})
	f, err := b.Open("/local/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, ok := f.(syscall.Conn); !ok || f.Name() != "/local/f" {
		t.Errorf("%T %s", f, f.Name())
	}
}
