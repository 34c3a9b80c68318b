package kvtree

import "golang.org/x/sys/unix"

// fcntlLock locks the whole file, for the open file description: a lock of the process would end when the process
// closes any other descriptor of the file, and would not exclude its own.
func fcntlLock(fd uintptr, exclusive bool) error {
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if exclusive {
		l.Type = unix.F_WRLCK
	}
	return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &l)
}
