package vfs

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"blobio/internal/base/calls"
)

// memories caches for each device (st_dev) whether its files may be in memory, because statfs on a parallel file system queries
// all servers. If a device number is reused for a tmpfs, the reservation of space still works there.
var memories sync.Map

// memory fills in statfs of a tmpfs. If the kernel gives the type of the file system, memory calls statfs only for a tmpfs.
func (f *osFile) memory(fs *unix.Statfs_t) error {
	return f.system("fstatfs", func(fd int) error {
		m, ok := mountOf(fd, "")
		if !ok {
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				return err
			}
			m.dev = uint64(st.Dev)
		}
		may, seen := memories.Load(m.dev)
		if !seen && ok {
			kind := m.kind()
			may, seen = kind == "tmpfs" || kind == "devtmpfs", kind != ""
		}
		if !seen || may == true {
			if err := unix.Fstatfs(fd, fs); err != nil {
				return err
			}
			may = int64(fs.Type) == unix.TMPFS_MAGIC
		}
		memories.Store(m.dev, may)
		return nil
	})
}

func (f *osFile) inMemory() bool {
	var fs unix.Statfs_t
	return f.memory(&fs) == nil && int64(fs.Type) == unix.TMPFS_MAGIC
}

// allocate reserves blocks and keeps the size. The file then has the same size as on file systems that cannot reserve.
func (f *osFile) allocate(off, n int64) error {
	var fs unix.Statfs_t
	if err := f.memory(&fs); err != nil {
		return err
	}
	if int64(fs.Type) == unix.TMPFS_MAGIC {
		// On a memory file system reserving does not help: memory is not contiguous, and writes to existing pages cost a quarter more.
		// So only check the free space. A file system without a limit has no blocks.
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

// sync uses fdatasync. fdatasync makes the size durable, too, but needs no journal entry for the times.
func (f *osFile) sync() error { return f.system("fdatasync", calls.Fdatasync) }

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		err = &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return err
}

// sysMeta adds fields that only the system's own record has.
func sysMeta(m *Meta, st fs.FileInfo) {
	switch s := st.Sys().(type) {
	case *syscall.Stat_t:
		m.UID, m.GID = s.Uid, s.Gid
		m.Atime = time.Unix(s.Atim.Unix())
		m.Ctime = time.Unix(s.Ctim.Unix())
	case *Meta:
		m.Mode, m.UID, m.GID, m.Atime = s.Mode, s.UID, s.GID, s.Atime
	}
}

// uninterrupted makes a system call with signals blocked. The signals are delivered after the call. A client of GlusterFS never
// answers an interrupted lock request, and the Go runtime sends signals to its threads at any time.
func uninterrupted(call func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i]--
	}
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old) == nil {
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
	call()
}
