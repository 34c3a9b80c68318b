package versioned

import (
	"context"

	"blobio/internal/base/durable"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// bytesOf is the length of a version of an array of bytes, of which level and global arrays are.
func (v *View) bytesOf(version int64) (int64, error) {
	x, err := v.rec.find(version)
	if err != nil {
		return 0, err
	}
	if v.spec.Type != elem.Uint8 || len(x.Shape) != 1 {
		return 0, fault.At(v.spec.Name, -1, "array", ErrNotFormat, "%v of %d dimensions, those of a hierarchy are bytes in a row", v.spec.Type, len(x.Shape))
	}
	return x.Shape[0], nil
}

// Table reads the table of a version of the array of a level (Name.level0, ... of a Hierarchy), and nothing of its data. ErrNotFormat: the array
// is not one of a level, or the version is from before the first save.
func (v *View) Table(ctx context.Context, version int64) (*LevelInfo, error) {
	n, err := v.bytesOf(version)
	if err != nil {
		return nil, err
	}
	return readTable(v.spec.Name, n, func(lo, hi int64, dst []byte) error {
		return v.Get(ctx, version, []int64{lo}, []int64{hi}, dst)
	})
}

// Snapshot reads a version of the global array of a hierarchy (Name.global). ErrNotFormat: the array is not one, or the version is from
// before the first snapshot.
func (v *View) Snapshot(ctx context.Context, version int64) (*Snapshot, error) {
	n, err := v.bytesOf(version)
	if err != nil {
		return nil, err
	}
	if n == 0 || n > durable.MaxSeal {
		return nil, fault.At(v.spec.Name, -1, "global", ErrNotFormat, "%d bytes", n)
	}
	b := make([]byte, n)
	if err := v.Get(ctx, version, []int64{0}, []int64{n}, b); err != nil {
		return nil, err
	}
	return decodeGlobal(b, v.spec.Name)
}
