package ffstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// lease is the exclusive right to write to a directory. It is implemented as the lease of the record file.
type lease struct {
	*durable.Lease
	fsys vfs.FS
	dir  string
	d    Durability
}

// hold takes the lease. A former holder can then not complete the commit of a record.
func hold(ctx context.Context, fsys vfs.FS, dir string, d Durability, o durable.LeaseOptions) (*lease, error) {
	name := filepath.Join(dir, recordName)
	l, err := durable.Acquire(ctx, fsys, name, o)
	if err != nil {
		return nil, err
	}
	if err = durable.SweepHidden(fsys, name); err == nil {
		err = durable.Remove(fsys, durable.TempName(name, writer)) // files of versions of this package without leases
	}
	if err != nil {
		_ = l.Release() // return the first error
		return nil, err
	}
	return &lease{l, fsys, dir, d}, nil
}

// check reports whether this Store still holds the directory. The error breaks the Store only if another Store has taken the
// lease.
func (l *lease) check() error {
	err := l.Check()
	var lost *durable.InUseError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &lost):
		return err
	case lost.Holder == nil:
		return fmt.Errorf("%s: another program has taken over; earlier commits of this Store remain valid: %w: %w", l.dir, ErrBroken, ErrInUse)
	}
	return fmt.Errorf("%s: taken over by %v; earlier commits of this Store remain valid: %w: %w", l.dir, lost.Holder, ErrBroken, ErrInUse)
}

// replace commits a record. It calls check after the new file is complete, and commits only if check returns nil. After an
// UnsureError, readers may find the new record, now or after a crash.
func (l *lease) replace(r *record, check func() error) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	name := filepath.Join(l.dir, recordName)
	o := replacing(l.d)
	o.Temp, o.Check = durable.HiddenName(name, l.ID()), check
	return durable.Replace(l.fsys, name, b, o)
}

// If the lease was taken over, settle removes the files of a slot before the slot is written. If the former holder is still
// alive, it then writes to files without a name.
func (l *lease) settle(slot int) error {
	if !l.Unsure() {
		return nil
	}
	if err := vfs.RemoveAll(l.fsys, slotDir(l.dir, slot)); err != nil {
		return err
	}
	return l.Settle()
}
