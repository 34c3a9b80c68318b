package vfs

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"blobio/internal/calls"
)

// disks are devices (st_dev) that were seen not to be memory: a parallel file system asks all its servers to answer statfs. Should such a
// number come to mean a tmpfs, that can reserve, too.
var disks sync.Map

// allocate reserves blocks and keeps the size, so that a file system that cannot
// reserve (where this is no operation) gives the same file.
func (f *osFile) allocate(off, n int64) error {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := f.system("fstat", func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if _, disk := disks.Load(st.Dev); !disk {
		if err := f.system("fstatfs", func(fd int) error { return unix.Fstatfs(fd, &fs) }); err != nil {
			return err
		}
		if int64(fs.Type) != unix.TMPFS_MAGIC {
			disks.Store(st.Dev, true)
		}
	}
	if int64(fs.Type) == unix.TMPFS_MAGIC {
		// Memory does not lie together, and pages that a write finds there cost a quarter of it
		// again. What counts is whether there is room; a file system without a limit has no blocks.
		if fs.Blocks > 0 && n > int64(fs.Bfree)*int64(fs.Bsize) {
			return f.system("fallocate", func(int) error { return unix.ENOSPC })
		}
		return nil
	}
	err := f.system("fallocate", func(fd int) error {
		return calls.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// sync: fdatasync writes the size too, and spares the journal the times.
func (f *osFile) sync() error { return f.system("fdatasync", calls.Fdatasync) }
