//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"syscall"
)

// openSeekable is open for a file that programs like this one make: nobody waits at its other end. So the name is not looked at first, which
// on a network file system would take a message; what has no positions is found when it is open.
func openSeekable(name string, flag int) (File, error) {
	f, err := openFile(name, flag|noFollow|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) { // lent to a client of the network: the server has to get it back first
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

// openLimit is how many files this process may have open. Package os has raised it to the hard limit.
func openLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 256 // what any system has
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
