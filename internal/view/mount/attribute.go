//go:build linux && !386 && !arm

package mount

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// Extended attributes of a dataset, shown by getfattr.
const (
	attState  = "user.blobio.state"  // one word: blob.Status.State
	attStatus = "user.blobio.status" // one line, with the writer
)

var _ interface {
	fs.NodeGetxattrer
	fs.NodeListxattrer
} = (*dataset)(nil)

// Getxattr returns whether the dataset is being written. If the first call cannot find out whether the writer is alive, a
// later call of the same mount may.
func (d *dataset) Getxattr(_ context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	if name != attState && name != attStatus {
		return 0, unix.ENODATA
	}
	d.looking.Lock()
	defer d.looking.Unlock()
	if d.watch == nil {
		w, err := d.m.tree.Watch(d.path)
		if err != nil {
			return 0, d.m.errno("look up the status of", d.path, err)
		}
		d.watch = w
	}
	s, err := d.watch.Look()
	if err != nil {
		return 0, d.m.errno("look up the status of", d.path, err)
	}
	text := s.State.String()
	if name == attStatus {
		text = s.String()
	}
	return fill(dest, text)
}

// Listxattr lists the attributes.
func (d *dataset) Listxattr(_ context.Context, dest []byte) (uint32, syscall.Errno) {
	return fill(dest, attState+"\x00"+attStatus+"\x00")
}

// fill copies a text to dest and returns its length. If dest is empty, it only returns the length.
func fill(dest []byte, text string) (uint32, syscall.Errno) {
	if len(dest) > 0 && len(dest) < len(text) {
		return uint32(len(text)), unix.ERANGE
	}
	copy(dest, text)
	return uint32(len(text)), 0
}
