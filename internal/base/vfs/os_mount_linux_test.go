package vfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestKindIn(t *testing.T) {
	const list = `21 1 0:19 / /proc rw,relatime shared:2 - proc proc rw
22 21 8:1 /a\040-\040b /mnt/a\040-\040b rw - ext4 /dev/sda1 rw,errors=remount-ro
221 21 0:41 / /g rw,relatime shared:2 master:7 - fuse.glusterfs server:/v rw
2 21 0:42 / /cut rw`
	for id, want := range map[uint64]string{21: "proc", 22: "ext4", 221: "fuse.glusterfs", 2: "", 1: ""} {
		if got := kindIn(list, id); got != want {
			t.Errorf("mount %d is %q, want %q", id, got, want)
		}
	}
}

// TestLocalByMount: mountinfo and statfs agree on a directory.
func TestLocalByMount(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/", "/dev/shm", "/proc", "/sys"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			continue
		}
		if got, want := OS.Local(filepath.Join(dir, "x")), slices.Contains(localTypes, int64(uint32(st.Type))); got != want {
			t.Errorf("%s: local is %v, by statfs %v", dir, got, want)
		}
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, ok := mountOf(int(f.Fd()), "")
		if n, named := mountOf(unix.AT_FDCWD, dir); ok != named || m != n {
			t.Errorf("%s: %v by name, %v when open", dir, n, m)
		}
	}
}
