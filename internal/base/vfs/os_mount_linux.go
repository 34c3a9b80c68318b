package vfs

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mount is the kernel's record of a file's file system. Unlike stat, it needs no message to a server. On some parallel file
// systems statfs even queries all servers.
type mount struct {
	id  uint64
	dev uint64
}

// mountOf returns the mount of an open file or, with unix.AT_FDCWD, of a name. It returns false if the kernel does not know.
func mountOf(fd int, name string) (mount, bool) {
	var st unix.Statx_t
	for {
		switch err := unix.Statx(fd, name, unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st); err {
		case unix.EINTR:
			continue
		case nil:
			return mount{st.Mnt_id, unix.Mkdev(st.Dev_major, st.Dev_minor)}, st.Mask&unix.STATX_MNT_ID != 0
		default:
			return mount{}, false
		}
	}
}

// kind returns the type of the file system, such as "ext4" or "fuse.glusterfs"; "" if unknown.
func (m mount) kind() string {
	list, err := ReadStream("/proc/self/mountinfo", 16<<20)
	if err != nil {
		return ""
	}
	return kindIn(string(list), m.id)
}

// kindIn finds the type of a mount in mountinfo (proc_pid_mountinfo(5)): a line begins with the mount's number, and the type
// follows a lone hyphen.
func kindIn(list string, id uint64) string {
	number := strconv.FormatUint(id, 10) + " "
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, number) {
			continue
		}
		if _, rest, ok := strings.Cut(line, " - "); ok {
			kind, _, _ := strings.Cut(rest, " ")
			return kind
		}
	}
	return ""
}

// localTypes are file systems of one machine, as f_type of statfs(2). Any other may be shared.
var localTypes = []int64{
	unix.EXT4_SUPER_MAGIC, // also ext2 and ext3
	unix.XFS_SUPER_MAGIC,
	unix.BTRFS_SUPER_MAGIC,
	unix.TMPFS_MAGIC,
	unix.RAMFS_MAGIC,
	unix.F2FS_SUPER_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS, which is not part of Linux
}

// localKinds are the same types by name.
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

// BootID identifies the boot of this machine; "" if unknown.
func BootID() string {
	b, _ := ReadStream("/proc/sys/kernel/random/boot_id", 128) // missing without /proc
	return strings.TrimSpace(string(b))
}
