package subfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

func touch(t *testing.T, fsys vfs.FS, names ...string) {
	t.Helper()
	for _, n := range names {
		f := need(fsys.Create(n))
		must(t, f.Close())
	}
}

func TestFind(t *testing.T) {
	m := vfs.NewMem()
	for _, d := range []string{"one", "two", "empty", "plain", "digits"} {
		must(t, m.MkdirAll(d))
	}
	touch(t, m, "one/F.nc.0000", "one/F.nc.0002", "one/F.nc.0001.partial", "one/F.nc.manifest", "one/F.nc+1.0000",
		"two/A.nc.0000", "two/B.nc.0000", "plain/c.nc")
	for _, path := range []string{"one/F.nc", "one/F.nc.0002", "one", "one/F.nc.manifest"} {
		s, err := Find(m, path)
		if err != nil {
			t.Errorf("Find(%q): %v", path, err)
			continue
		}
		if s.Base != "one/F.nc" || s.Len() != 3 || len(s.Members) != 2 || s.Members[2] != "one/F.nc.0002" || len(s.Partials) != 1 || !s.Manifest || s.Next || s.Single {
			t.Errorf("Find(%q) = %+v", path, s)
		}
	}
	if s, err := Find(m, "one/F.nc+1.0000"); err != nil || s.Base != "one/F.nc+1" {
		t.Errorf("a member of an appended set: %+v, %v", s, err)
	}
	touch(t, m, "digits/out.0001.0000", "digits/out.0001.0001")
	for _, path := range []string{"digits/out.0001", "digits/out.0001.0001", "digits"} {
		if s, err := Find(m, path); err != nil || s.Base != "digits/out.0001" || len(s.Members) != 2 {
			t.Errorf("a base name that ends in a number, Find(%q): %+v, %v", path, s, err)
		}
	}
	touch(t, m, "plain/c.nc.0000")
	if s, err := Find(m, "plain/c.nc"); err != nil || !s.Single {
		t.Errorf("a file with subfiles of its name beside it: %+v, %v", s, err)
	}
	must(t, m.Remove("plain/c.nc.0000"))
	if s, err := Find(m, "plain"); err != nil || !s.Single || s.Base != "plain/c.nc" {
		t.Errorf("a directory with one plain file: %+v, %v", s, err)
	}
	touch(t, m, "plain/notes.txt")
	if _, err := Find(m, "plain"); err == nil || !strings.Contains(err.Error(), "the directory has 2 files; give one of: c.nc, notes.txt") {
		t.Errorf("a directory with two plain files: %v", err)
	}
	for mark, want := range map[string]string{"zarr.json": "Zarr 3", ".zarray": "Zarr 2", ".zgroup": "Zarr 2"} {
		touch(t, m, "empty/"+mark)
		if _, err := Find(m, "empty"); !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("a Zarr directory with %s: %v", mark, err)
		}
		must(t, m.Remove("empty/"+mark))
	}
	if _, err := Find(m, "two"); !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), "A.nc, B.nc") {
		t.Errorf("two datasets: %v", err)
	}
	for _, path := range []string{"empty", "one/G.nc", "none/F.nc"} {
		if _, err := Find(m, path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%q): %v", path, err)
		}
	}
}

// TestListPlus: "a+1" is a dataset if it has its own record, with or without "a". Otherwise its files are a set of "a".
func TestListPlus(t *testing.T) {
	for _, record := range []string{"a+1.manifest", "a+1.manifest.next", LogName("a+1", mine), "a+1.manifest.next." + mine + ".partial"} {
		for _, first := range []bool{false, true} {
			m := vfs.NewMem()
			touch(t, m, "a+1.0000", "a+1.0001", "a+2.0000", "a+2.manifest", record)
			want := "a+1 a+2"
			if first {
				touch(t, m, "a.0000", "a.manifest", "a+3.0000")
				want = "a a+1 a+2"
			}
			for what, list := range map[string]func(vfs.FS, string) ([]*Set, error){"List": List, "ListAll": ListAll} {
				sets, err := list(m, ".")
				var got []string
				for _, s := range sets {
					got = append(got, s.Base)
				}
				if err != nil || strings.Join(got, " ") != want {
					t.Errorf("%s with %s: %v, %v, want %s", what, record, got, err, want)
				}
			}
		}
	}
}

// Only regular files are datasets: opening a pipe would block, and a link to a directory is a directory.
func TestListLeavesOutWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	touch(t, vfs.OS, "c.nc")
	must(t, vfs.OS.MkdirAll("dir"))
	for link, to := range map[string]string{"tofile.nc": "c.nc", "todir": "dir", "tonothing.nc": "none"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	l, err := net.Listen("unix", "socket.nc")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	sets, err := List(vfs.OS, ".")
	if err != nil || len(sets) != 2 || sets[0].Base != "c.nc" || sets[1].Base != "tofile.nc" {
		t.Errorf("List: %v, %v", sets, err)
	}
	if s, err := Find(vfs.OS, "socket.nc"); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("Find of a socket: %+v, %v", s, err)
	}
}
