package vfs

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mount is what the kernel knows of the file system of a file. No server is asked, as it is by stat, and by statfs, which some
// parallel file systems have all of their servers answer.
type mount struct {
	id  uint64
	dev uint64
}

// mountOf is of an open file, or with unix.AT_FDCWD of a name; false where the kernel does not tell.
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

// kind is the type of the file system, such as "ext4" or "fuse.glusterfs"; "" if it is not known.
func (m mount) kind() string {
	list, err := ReadStream("/proc/self/mountinfo", 16<<20)
	if err != nil {
		return ""
	}
	return kindIn(string(list), m.id)
}

// kindIn finds the type of a mount in the lines of mountinfo (proc_pid_mountinfo(5)): first its number, behind a lone hyphen the type.
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
