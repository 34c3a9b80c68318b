package mount

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/fault"
)

// ErrUnavailable is in the chain of the error of New if this machine, or this user, cannot mount anything.
var ErrUnavailable = errors.New("mounting is not possible here")

// Options of New. The zero value, or nil, means the defaults.
type Options struct {
	Version      cdf5.Version      // of the netCDF files; default CDF5
	OnlyDatasets bool              // hide other files; without it they are passed through
	AllowOther   bool              // let other users in, within the permissions of the files
	Verify       blob.Verification // which checksums reading compares; default VerifyOnce
	Memory       int64             // cap of cached data and of data read ahead, in bytes, at least 16 MiB; default 256 MiB
	Workers      int               // concurrent reads of each dataset; default GOMAXPROCS
	Log          io.Writer         // takes a line for each EIO that a program got; nil: none
}

// diary writes lines. One that repeats is written once in a while only: programs try again, and the kernel does.
type diary struct {
	w    io.Writer
	mu   sync.Mutex
	last map[string]time.Time
}

const (
	repeatAfter = time.Minute
	maxLines    = 1024 // that are remembered
)

func (d *diary) say(format string, args ...any) {
	if d.w == nil {
		return
	}
	line := fault.Printable(fmt.Sprintf(format, args...))
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if was, ok := d.last[line]; ok && now.Sub(was) < repeatAfter {
		return
	}
	if d.last == nil || len(d.last) >= maxLines {
		d.last = map[string]time.Time{}
	}
	d.last[line] = now
	fmt.Fprintln(d.w, line)
}
