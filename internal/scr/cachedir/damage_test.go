package cachedir

import (
	"errors"
	"io/fs"
	"math/rand"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

func TestRefused(t *testing.T) {
	tree := func(keys ...string) *kvtree.Tree {
		t := kvtree.New()
		t.SetAt(nil, keys...)
		return t
	}
	for _, x := range []*kvtree.Tree{
		tree("DSET", "x"), tree("DSET", "0"), tree("DSET", "01"), tree("DSET", "-1"), tree("DSET", "1"), tree("DSET", "1", "PATH", ""),
		tree("DSET", "1", "BYPASS", "2"), tree("DSET", "99999999999", "PATH", "/a"),
	} {
		if _, err := ParseCatalog(x, "f"); !fault.IsDamage(err) {
			t.Errorf("catalogue %v: %v", x.At("DSET").Keys(), err)
		}
	}
	for _, id := range []string{"1", "3"} {
		other := tree("DSET", "2", "PATH", "/a")
		other.SetAt(nil, "DSET", "2", "DSETDESC", "ID", id)
		if _, err := ParseCatalog(other, "f"); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("the record of dataset %s for 2: %v", id, err)
		}
	}
	for _, x := range []*kvtree.Tree{tree("FILE", ""), tree("FILE", "/a", "META", "SIZE", "-1"), tree("FILE", "/a", "META", "COMPLETE", "x")} {
		if _, err := ParseFilemap(x, "f"); !fault.IsDamage(err) {
			t.Errorf("map: %v", err)
		}
	}
	m := vfs.NewMem()
	must(t, m.MkdirAll("/d/.scr"))
	for _, x := range []*kvtree.Tree{tree("STATE", "3"), tree(), tree("STATE", "x"), tree("RANK", "x"), tree("RANK", "1", "FILE", "/a"), tree("RANK", "1", "FILES", "x"), tree("RANK", "1", "FILES", "1")} {
		must(t, kvtree.WriteFile(m, "/d/.scr/gshuffile", x))
		must(t, kvtree.WriteFile(m, "/d/.scr/ger", x))
		_, err := ReadShuffile(m, "/d", "g")
		_, err2 := ReadState(m, "/d", "g")
		if !fault.IsDamage(err2) || x.Has("RANK") && !fault.IsDamage(err) {
			t.Errorf("%v: %v, %v", x.Keys(), err, err2)
		}
	}
	if err := WriteState(m, "/d", "g", 3); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("state 3: %v", err)
	}
	for _, dir := range []string{"/", "", "/d", "/d/scr.dataset.", "/d/scr.dataset.0", "/d/scr.dataset.1x", "/scr.dataset.1/.."} {
		if err := Delete(m, dir); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("Delete(%q): %v", dir, err)
		}
	}
}

// Interrupt Delete at each operation, then repeat it: nothing may be left. While a dataset is partly deleted, its metadata must
// mark files as missing, and files must not exist without their file map.
func TestDeleteCrash(t *testing.T) {
	start := vfs.NewMem()
	dir := cached(t, start)
	write(t, start, "/elsewhere", "stays")
	for _, d := range []string{"/", "/c", dir, dir + "/3", dir + "/.scr"} {
		must(t, start.SyncDir(d))
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error { return Delete(fsys, dir) })}
	for f := range sc.Faults(t, crashtest.Dies(errors.New("dead"))) {
		n, m := f.N, f.Mem[0]
		for seed := range int64(4) {
			after := m.CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed + n))})
			if _, e := after.Stat(FilemapName(dir, 3)); e != nil {
				if _, e := after.Stat(dir + "/a"); e == nil {
					t.Fatalf("crash at %d: a file without its map", n)
				}
			}
			must(t, Delete(after, dir))
			if _, e := after.Stat(dir); !errors.Is(e, fs.ErrNotExist) {
				t.Fatalf("crash at %d: still there: %v", n, e)
			}
			if _, e := after.Stat("/elsewhere"); e != nil {
				t.Fatal(e)
			}
		}
		if f.Of < 10 {
			t.Fatalf("only %d operations", f.Of)
		}
	}
	must(t, Delete(start, dir))
	if _, e := start.CrashClone(vfs.CrashOptions{}).Stat(dir); !errors.Is(e, fs.ErrNotExist) {
		t.Fatalf("not durable: %v", e)
	}
}

// FuzzSurvey replaces each metadata file by an arbitrary tree.
func FuzzSurvey(f *testing.F) {
	seed := func(keys ...string) {
		t := kvtree.New()
		t.SetAt(nil, keys...)
		b, err := kvtree.Pack(t)
		must(f, err)
		f.Add(b)
	}
	seed("DSET", "1", "PATH", "/c/scr.dataset.1")
	seed("RANK", "1", "DSET", "1", "FILE", "/a", "META", "SIZE", "3")
	seed("FILE", "/a", "META", "SIZE", "3")
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b, nil)
		if err != nil {
			return
		}
		m := vfs.NewMem()
		dir := "/c/scr.dataset.1"
		must(t, m.MkdirAll(MetaDir(dir)))
		for _, n := range []string{"/cat", FilemapName(dir, 0), GroupFile(dir, MapGroup, "er"), GroupFile(dir, MapGroup, "shuffile")} {
			must(t, kvtree.WriteFile(m, n, tree))
		}
		all, err := Survey(m, "/cat", "/c")
		if err != nil && !fault.IsDamage(err) && !strings.Contains(err.Error(), "invalid") && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v", err)
		}
		for _, h := range all {
			for _, r := range h.Ranks {
				if r.Whole() && len(r.Files) != r.Map.Len() {
					t.Fatalf("%+v", r)
				}
			}
		}
		_, err = ReadState(m, dir, MapGroup)
		_, err2 := ReadShuffile(m, dir, MapGroup)
		for _, e := range []error{err, err2} {
			if e != nil && !fault.IsDamage(e) {
				t.Fatal(e)
			}
		}
	})
}
