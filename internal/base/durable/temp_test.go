package durable

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// TestTempNames: final names may have the maximum length. Temporary names are unique or depend on the owner.
func TestTempNames(t *testing.T) {
	mem := vfs.NewMem()
	long := strings.Repeat("n", 255)
	a, b := need(CreateTemp(mem, long, TempOptions{})), need(CreateTemp(mem, long, TempOptions{}))
	if a.Name() == b.Name() || !IsTemp(a.Name()) || len(a.Name()) > 100 || a.Final() != long {
		t.Errorf("%q, %q", a.Name(), b.Name())
	}
	c := need(CreateTemp(mem, "x", TempOptions{Owner: "o"}))
	need(c.WriteAt([]byte("first"), 0))
	d, other := need(CreateTemp(mem, "x", TempOptions{Owner: "o"})), need(CreateTemp(mem, "y", TempOptions{Owner: "o"}))
	if c.Name() != d.Name() || other.Name() == c.Name() {
		t.Errorf("%q, %q, %q", c.Name(), d.Name(), other.Name())
	}
	must(t, d.Commit())
	if b, err := vfs.ReadFile(mem, "x", 10); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
	d.Discard() // it has its final name
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
	e := need(CreateTemp(mem, "new/dir/x", TempOptions{Mkdir: true, Sync: true}))
	must(t, e.Commit())
	if _, err := mem.CrashClone(vfs.CrashOptions{}).Stat("new/dir"); err != nil {
		t.Error("the directories do not outlive a power cut:", err)
	}
}

// TestMkdirAll: a directory that could not be made durable is created again.
func TestMkdirAll(t *testing.T) {
	for at := range int64(6) {
		mem := vfs.NewMem()
		_ = MkdirAll(vfs.FailNth(mem, at, errors.New("boom")), "a/b", true)
		must(t, MkdirAll(mem, "a/b", true))
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
	x := need(CreateTemp(vfs.OS, dir+"/x", TempOptions{}))
	must(t, x.Finish())
	must(t, vfs.WriteFile(vfs.OS, dir+"/x", nil))
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
