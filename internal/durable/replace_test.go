package durable

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"blobio/internal/vfs"
)

// TestReplace: at each operation that fails, and after a power cut at each, the content is the
// old or the new one; where Replace is sure, it is the old one, and nothing else is there. What a writer that died left is no obstacle.
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
		if err := ReplaceAll(mem, names, []byte("old"), o); err != nil {
			t.Fatal(err)
		}
		left, err := CreateTemp(mem, "c", TempOptions{Owner: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := left.Finish(); err != nil { // its writer died here
			t.Fatal(err)
		}
		n := 0
		kind := vfs.OpStat
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			n++
			if n == at+1 {
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
		if n <= at {
			if err != nil {
				t.Fatal(err)
			}
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
	list, err := fsys.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if IsTemp(e.Name()) {
			t.Errorf("%s is there", e.Name())
		}
	}
}

// renamed is a file system on which a rename happens and says that it failed.
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

// TestGroup: where the second of two names cannot be had, the first one has its own already, and the error says so.
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

// TestTempNames: names are as long as names can be, are new, or are those of the owner.
func TestTempNames(t *testing.T) {
	mem := vfs.NewMem()
	must := func(x *Temp, err error) *Temp {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	long := strings.Repeat("n", 255)
	a, b := must(CreateTemp(mem, long, TempOptions{})), must(CreateTemp(mem, long, TempOptions{}))
	if a.Name() == b.Name() || !IsTemp(a.Name()) || len(a.Name()) > 100 || a.Final() != long {
		t.Errorf("%q, %q", a.Name(), b.Name())
	}
	c := must(CreateTemp(mem, "x", TempOptions{Owner: "o"}))
	if _, err := c.WriteAt([]byte("first"), 0); err != nil {
		t.Fatal(err)
	}
	d, other := must(CreateTemp(mem, "x", TempOptions{Owner: "o"})), must(CreateTemp(mem, "y", TempOptions{Owner: "o"}))
	if c.Name() != d.Name() || other.Name() == c.Name() {
		t.Errorf("%q, %q, %q", c.Name(), d.Name(), other.Name())
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := vfs.ReadFile(mem, "x", 10); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
	d.Discard() // it has its name
	if _, err := mem.Stat("x"); err != nil {
		t.Error(err)
	}
	for _, x := range []*Temp{a, b, other} {
		x.Discard()
		x.Discard()
	}
	noTemps(t, mem)
	(*Temp)(nil).Discard()
	if _, err := CreateTemp(mem, "no/x", TempOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	e := must(CreateTemp(mem, "new/dir/x", TempOptions{Mkdir: true, Sync: true}))
	if err := e.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.CrashClone(vfs.CrashOptions{}).Stat("new/dir"); err != nil {
		t.Error("the directories do not outlive a power cut:", err)
	}
}

// TestMkdirAll: what was made, and could not be made durable, is made again.
func TestMkdirAll(t *testing.T) {
	for at := range int64(6) {
		mem := vfs.NewMem()
		_ = MkdirAll(vfs.FailNth(mem, at, errors.New("boom")), "a/b", true)
		if err := MkdirAll(mem, "a/b", true); err != nil {
			t.Fatal(err)
		}
		if _, err := mem.CrashClone(vfs.CrashOptions{}).Stat("a/b"); err != nil {
			t.Errorf("operation %d failed at first: %v", at, err)
		}
	}
	if err := MkdirAll(vfs.NewMem(), "a/b", false); err != nil {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	x, err := CreateTemp(vfs.OS, dir+"/x", TempOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(vfs.OS, dir+"/x", nil); err != nil {
		t.Fatal(err)
	}
	if n, err := Sweep(vfs.OS, dir, time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := Sweep(vfs.OS, dir, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Error(n, err)
	}
	if list, err := vfs.OS.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "x" {
		t.Error(list, err)
	}
	if n, err := Sweep(vfs.OS, dir+"/no", time.Now()); n != 0 || err != nil {
		t.Error(n, err)
	}
}
