//go:build !windows && !plan9 && !js && !wasip1

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// closed returns a folder to which only its owner may write, regardless of the umask.
func closed(t *testing.T) string {
	tmp := t.TempDir()
	ok(t, os.Chmod(tmp, 0o700))
	dir := filepath.Join(tmp, "d")
	ok(t, os.Mkdir(dir, 0o700))
	return dir
}

func isOwner(err error) bool {
	var o *OwnerError
	return errors.As(err, &o) && errors.Is(err, fs.ErrPermission)
}

func TestCheckOwner(t *testing.T) {
	dir := closed(t)
	me, group := os.Geteuid(), os.Getegid()
	for _, x := range []struct {
		mode   fs.FileMode
		access Access
		ok     bool
	}{
		{0o700, OwnOnly, true}, {0o755, OwnOnly, true}, {0o777, OwnOnly, false}, {0o777 | fs.ModeSticky, OwnOnly, false},
		{0o702, OwnOnly, false}, {0o770, Shared, true}, {0o777, Shared, false}, {0o777 | fs.ModeSticky, Shared, true},
		{0o770, OwnOnly, me == group}, {0o777, AnyMode, true},
	} {
		ok(t, os.Chmod(dir, x.mode))
		if err := CheckOwner(OS, dir, x.access); (err == nil) != x.ok || err != nil && !isOwner(err) {
			t.Errorf("mode %v, access %d: %v", x.mode, x.access, err)
		}
	}
	ok(t, os.Chmod(dir, 0o700))
	link := filepath.Join(filepath.Dir(dir), "link")
	ok(t, os.Symlink(dir, link))
	if err := CheckOwner(OS, link, AnyMode); !isOwner(err) {
		t.Errorf("a link: %v", err)
	}
	if err := CheckOwner(OS, filepath.Join(dir, "none"), OwnOnly); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if f, err := OS.OpenRW(link); err == nil {
		t.Error("a link was opened", f.Name())
	}
	if me != 0 {
		return
	}
	ok(t, os.Chown(dir, 2001, 2001))
	for _, a := range []Access{OwnOnly, Shared, AnyMode} {
		if err := CheckOwner(OS, dir, a); !isOwner(err) {
			t.Errorf("root obeys user 2001: %v", err)
		}
	}
	ok(t, os.Chown(dir, 0, 2001))
	ok(t, os.Chmod(dir, 0o770))
	if err := CheckOwner(OS, dir, OwnOnly); !isOwner(err) {
		t.Errorf("the group is another one: %v", err)
	}
}

// TestCheckWay: a folder in a parent that others may write to is not trusted unless the parent is sticky.
func TestCheckWay(t *testing.T) {
	dir := closed(t)
	sub := filepath.Join(dir, "a", "b")
	ok(t, MkdirOwn(OS, sub))
	if info, err := os.Stat(sub); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	ok(t, CheckWay(OS, sub))
	ok(t, MkdirOwn(NewMem(), "/x/y"))
	ok(t, CheckWay(NewMem(), "/"))
	above := filepath.Dir(sub)
	for mode, good := range map[fs.FileMode]bool{0o777: false, 0o777 | fs.ModeSticky: true, 0o755: true} {
		ok(t, os.Chmod(above, mode))
		if err := CheckWay(OS, sub); (err == nil) != good || err != nil && !isOwner(err) {
			t.Errorf("below %v: %v", mode, err)
		}
	}
	// A parent may be a link that belongs to the user. The target of the link is checked. A link instead of
	// the folder is refused.
	ok(t, os.Chmod(above, 0o755))
	link := filepath.Join(dir, "link")
	ok(t, os.Symlink(above, link))
	ok(t, CheckWay(OS, filepath.Join(link, "b")))
	if err := CheckWay(OS, link); !isOwner(err) {
		t.Errorf("a link: %v", err)
	}
	ok(t, os.Chmod(above, 0o777))
	if err := CheckWay(OS, filepath.Join(link, "b")); !isOwner(err) {
		t.Errorf("a link to what others may write to: %v", err)
	}
	if err := MkdirOwn(OS, above); !isOwner(err) {
		t.Errorf("one that was there, and open: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	ok(t, os.Chmod(above, 0o755))
	ok(t, os.Lchown(link, 2001, 2001))
	if err := CheckWay(OS, filepath.Join(link, "b")); !isOwner(err) {
		t.Errorf("a link of another user: %v", err)
	}
	ok(t, os.Chown(above, 2001, 2001))
	if err := CheckWay(OS, sub); !isOwner(err) {
		t.Errorf("in the folder of another user: %v", err)
	}
}

// TestCopyMeta: a copy gets the mode of its source minus the umask.
func TestCopyMeta(t *testing.T) {
	dir := closed(t)
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	ok(t, os.WriteFile(src, nil, 0o600))
	ok(t, os.Chmod(src, 0o666|fs.ModeSetuid))
	defer syscall.Umask(syscall.Umask(0o027))
	f, err := CreateMode(OS, dst, 0o666)
	ok(t, err)
	ok(t, f.Close())
	ok(t, CopyMeta(OS, src, OS, dst))
	info, err := os.Stat(dst)
	ok(t, err)
	if info.Mode() != 0o640 {
		t.Errorf("mode %v, want -rw-r-----", info.Mode())
	}
}
