package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestRoot: names below the directory are the names of the system. Every call with a name outside fails.
func TestRoot(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "in")
	ok(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o777))
	ok(t, os.MkdirAll(filepath.Join(top, "inner"), 0o777)) // this name begins with the directory's name
	for _, n := range []string{"secret", "in/a", "in/sub/b", "inner/c"} {
		ok(t, os.WriteFile(filepath.Join(top, n), []byte(n), 0o666))
	}
	links := map[string]string{"up": "../secret", "abs": filepath.Join(top, "secret"), "dirup": "..", "within": "sub/b", "dirwithin": "sub", "loop": "loop"}
	for n, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, n)); err != nil {
			t.Skip(err)
		}
	}
	r, err := NewRoot(dir)
	ok(t, err)
	defer r.Close()
	for _, c := range []struct {
		name string
		good bool
	}{
		{"in/a", true}, {"in/sub/b", true}, {"in/within", true}, {"in/dirwithin/b", true}, {"in/sub/../a", true}, {"in", true},
		{"in/none", false}, {"in/up", false}, {"in/abs", false}, {"in/dirup/secret", false}, {"in/dirup/in/a", false}, {"in/loop", false}, {"secret", false}, {"inner/c", false}, {"in/../secret", false}, {"", false},
	} {
		name := filepath.Join(top, c.name)
		_, serr := r.Stat(name)
		f, oerr := r.Open(name)
		if oerr == nil {
			f.Close()
		}
		if (serr == nil) != c.good || (oerr == nil) != c.good {
			t.Errorf("%s: stat %v, open %v, want good: %v", c.name, serr, oerr, c.good)
		}
		if pe := (*fs.PathError)(nil); !c.good && (!errors.As(oerr, &pe) || pe.Path != name) {
			t.Errorf("%s: %v does not name it", c.name, oerr)
		}
		if inside := c.good || c.name == "in/none" || c.name == "in/loop"; inside == errors.Is(oerr, ErrOutside) || inside == errors.Is(serr, ErrOutside) {
			t.Errorf("%s: %v, %v", c.name, oerr, serr)
		}
	}
	f, err := r.Open(filepath.Join(dir, "dirwithin/b"))
	ok(t, err)
	defer f.Close()
	b := make([]byte, 8)
	n, _ := f.ReadAt(b, 2)
	size, err := f.Size()
	if string(b[:n]) != "/sub/b" || size != 8 || err != nil {
		t.Errorf("%q, size %d, %v", b[:n], size, err)
	}
	list, err := r.ReadDir(dir)
	if err != nil || len(list) != 2+len(links) || list[0].Name() != "a" || list[1].Name() != "abs" {
		t.Errorf("%v, %v", list, err)
	}
	for _, err := range []error{second(f.WriteAt(b, 0)), f.Truncate(0), r.Remove(filepath.Join(dir, "a")), r.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")), second(r.Create(filepath.Join(dir, "n"))), second(r.OpenRW(filepath.Join(dir, "a"))), r.MkdirAll(filepath.Join(dir, "n"))} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%v, want a read-only file system", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
