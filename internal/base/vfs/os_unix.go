//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"syscall"
)

// openSeekable is open for a file that blobio made and that is not a pipe. It does not check the name before the open,
// because the check would take a message on a network file system. It detects a pipe or socket after the open.
func openSeekable(name string, flag int) (File, error) {
	f, err := openFile(name, flag|noFollow|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) { // the file is delegated to a network client, which must return the delegation first
		return open(name, flag|noFollow)
	}
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	}
	if err != nil {
		return nil, err
	}
	err = f.(*osFile).system("seek", func(fd int) error {
		_, err := syscall.Seek(fd, 0, io.SeekCurrent)
		return err
	})
	if errors.Is(err, syscall.ESPIPE) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	}
	return f, nil
}

// openLimit returns the maximum of open files of this process. Package os has raised it to the hard limit.
func openLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 256 // the minimum on any system
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
