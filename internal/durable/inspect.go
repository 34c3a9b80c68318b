package durable

import (
	"errors"
	"io/fs"

	"blobio/internal/vfs"
)

// HolderState says what is known of the holder of a lease.
type HolderState uint8

// The states.
const (
	NoHolder     HolderState = iota // nobody holds the lease
	HolderHere                      // a process holds it
	HolderDead                      // its holder ended without giving it back
	HolderUnsure                    // the holder is on another machine, and may be alive
)

// Inspect looks who holds the lease of name, and changes nothing.
func Inspect(fsys vfs.FS, name string) (*Holder, HolderState, error) {
	f, err := fsys.Open(LockName(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoHolder, nil
	}
	if err != nil {
		return nil, NoHolder, err
	}
	defer f.Close()
	h, _, err := readHolder(f)
	if err != nil {
		return nil, NoHolder, err
	}
	switch err := vfs.Lock(f, true); {
	case errors.Is(err, vfs.ErrLocked):
		return h, HolderHere, nil
	case err == nil:
		if here := me(); h.ended(&here, fsys.Local(name)) {
			return h, HolderDead, nil
		}
	}
	return h, HolderUnsure, nil
}
