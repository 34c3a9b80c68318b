package vfs

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// localTypes are file systems of one machine: f_type of statfs(2). Any other may be shared.
var localTypes = []int64{
	unix.EXT4_SUPER_MAGIC, // ext2 and ext3 too
	unix.XFS_SUPER_MAGIC,
	unix.BTRFS_SUPER_MAGIC,
	unix.TMPFS_MAGIC,
	unix.RAMFS_MAGIC,
	unix.F2FS_SUPER_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS, which is no part of Linux
}

// localKinds are the same by the names of mounts.
var localKinds = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "devtmpfs", "ramfs", "f2fs", "overlay", "zfs"}

// Local implements FS.
func (osFS) Local(name string) bool {
	if m, ok := mountOf(unix.AT_FDCWD, filepath.Dir(name)); ok {
		if kind := m.kind(); kind != "" {
			return slices.Contains(localKinds, kind)
		}
	}
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(name), &st); err != nil {
		return false
	}
	return slices.Contains(localTypes, int64(uint32(st.Type)))
}

// BootID names the start of this machine's kernel, "" if it is not known.
func BootID() string {
	b, _ := ReadStream("/proc/sys/kernel/random/boot_id", 128) // absent where /proc is
	return strings.TrimSpace(string(b))
}
