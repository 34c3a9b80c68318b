package durable

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"blobio/internal/base/vfs"
)

// TestReplace: after a failure or a power cut at any operation, the file has the old or the new content. After an error that is
// not unsure, it has the old content and there are no other files. Files of a dead writer do not block Replace.
func TestReplace(t *testing.T) {
	for _, names := range [][]string{{"c"}, {"c", "d"}} {
		testReplace(t, names)
	}
}

func testReplace(t *testing.T, names []string) {
	boom := errors.New("boom")
	o := ReplaceOptions{Owner: "test", Sync: true, SyncDir: true}
	for at := 0; ; at++ {
		mem := vfs.NewMem()
		must(t, ReplaceAll(mem, names, []byte("old"), o))
		left, err := CreateTemp(mem, "c", TempOptions{Owner: "test"})
		must(t, err)
		if err := left.Finish(); err != nil { // the writer died here
			t.Fatal(err)
		}
		var n atomic.Int64 // files are synced at once
		kind := vfs.OpStat
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if n.Add(1) == int64(at)+1 {
				kind = op.Kind
				return boom
			}
			return nil
		})
		err = ReplaceAll(fsys, names, []byte("new"), o)
		doubt := errors.As(err, new(*UnsureError))
		for _, from := range []vfs.FS{mem, mem.CrashClone(vfs.CrashOptions{})} {
			for _, name := range names {
				b, rerr := vfs.ReadFile(from, name, 100)
				if rerr != nil || string(b) != "new" && (string(b) != "old" || err == nil) || err != nil && !doubt && string(b) != "old" {
					t.Fatalf("operation %d fails: %s is %q, %v, unsure %v: %v", at, name, b, rerr, doubt, err)
				}
			}
		}
		if n.Load() <= int64(at) {
			must(t, err)
			break
		}
		if !errors.Is(err, boom) {
			t.Fatalf("%v fails: %v", kind, err)
		}
		if kind != vfs.OpRemove && kind != vfs.OpCreate {
			noTemps(t, mem)
		}
	}
}

func noTemps(t *testing.T, fsys vfs.FS) {
	t.Helper()
	for _, name := range names(t, fsys, ".") {
		if IsTemp(name) {
			t.Errorf("%s is there", name)
		}
	}
}

// renamed is a file system whose renames happen but return an error.
type renamed struct{ vfs.FS }

func (r renamed) Rename(from, to string) error {
	return errors.Join(r.FS.Rename(from, to), errors.New("no answer"))
}

func TestRenameInDoubt(t *testing.T) {
	mem := vfs.NewMem()
	var u *UnsureError
	if err := Replace(renamed{mem}, "c", []byte("new"), ReplaceOptions{}); !errors.As(err, &u) || u.Name != "c" {
		t.Fatal(err)
	}
	if b, err := vfs.ReadFile(mem, "c", 10); err != nil || string(b) != "new" {
		t.Fatalf("%q %v", b, err)
	}
}

// TestGroup: if the second rename fails, the first file already has its name, and the error reports this.
func TestGroup(t *testing.T) {
	mem := vfs.NewMem()
	boom := errors.New("boom")
	fsys := vfs.NewFault(mem, vfs.FailOn(vfs.OpRename, "", 2, boom))
	err := ReplaceAll(fsys, []string{"c", "d"}, []byte("new"), ReplaceOptions{})
	if !errors.As(err, new(*UnsureError)) || !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, err := mem.Stat("c"); err != nil {
		t.Error(err)
	}
	if _, err := mem.Stat("d"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	noTemps(t, mem)
}

// TestGroupOrder: files are renamed in the order of Add, after the file of AddFirst.
func TestGroupOrder(t *testing.T) {
	mem := vfs.NewMem()
	var got []string
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename {
			got = append(got, op.New)
		}
		return nil
	})
	var g Group
	defer g.Discard()
	for i, name := range []string{"b", "c", "a"} {
		x := need(CreateTemp(fsys, name, TempOptions{}))
		if i < 2 {
			g.Add(x)
		} else {
			g.AddFirst(x)
		}
	}
	must(t, g.Commit(true))
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) || !slices.Equal(g.Names(), want) {
		t.Errorf("%q, of %q", got, g.Names())
	}
}

// TestRename: after any failure or power cut, a file or directory has the old or the new name. After success, it has the new
// name. After an error that is not unsure, it has the old name.
func TestRename(t *testing.T) {
	boom := errors.New("boom")
	there := func(fsys vfs.FS, name string) bool {
		_, err := fsys.Stat(name)
		return err == nil
	}
	for _, names := range [][2]string{{"a/f", "a/g"}, {"a/f", "b/f"}, {"a", "c"}} {
		from, to := names[0], names[1]
		for done, at := false, int64(1); !done; at++ {
			mem := vfs.NewMem()
			must(t, errors.Join(MkdirAll(mem, "a", true), MkdirAll(mem, "b", true), Replace(mem, "a/f", []byte("f"), ReplaceOptions{Sync: true, SyncDir: true})))
			kind := vfs.OpStat
			done = true
			err := Rename(vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Seq != at {
					return nil
				}
				done, kind = false, op.Kind
				return boom
			}), from, to)
			unsure := errors.Is(err, ErrUnsure)
			if done != (err == nil) || unsure != (err != nil && kind != vfs.OpRename) {
				t.Fatalf("%s to %s: %v fails: %v", from, to, kind, err)
			}
			for _, fsys := range []vfs.FS{mem, mem.CrashClone(vfs.CrashOptions{})} {
				old, now := there(fsys, from), there(fsys, to)
				if !old && !now || !unsure && now != (err == nil) || !unsure && old != (err != nil) {
					t.Errorf("%s to %s: %v fails: the old name is there %v, the new one %v: %v", from, to, kind, old, now, err)
				}
			}
		}
	}
	if err := Rename(renamed{vfs.NewMem()}, "x", "y"); !errors.Is(err, ErrUnsure) {
		t.Error(err)
	}
}

// TestTogether: the files of a group are synced at once, and the parents of new directories. Each sync waits until two have begun.
func TestTogether(t *testing.T) {
	for kind, run := range map[vfs.OpKind]func(fsys vfs.FS) error{
		vfs.OpSync:    func(fsys vfs.FS) error { return ReplaceAll(fsys, []string{"c", "d"}, nil, ReplaceOptions{Sync: true}) },
		vfs.OpSyncDir: func(fsys vfs.FS) error { return MkdirAll(fsys, "a/b", true) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var begun sync.WaitGroup
			begun.Add(2)
			must(t, run(vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
				if op.Kind == kind {
					begun.Done()
					begun.Wait()
				}
				return nil
			})))
		})
	}
}
