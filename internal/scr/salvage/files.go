package salvage

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// damagedSuffix ends the name of a file that was put aside because its bytes have changed.
const damagedSuffix = ".salvage-damaged"

// expect is the known size and checksum of a file. If neither is known, Size is -1 and there is no CRC.
type expect struct {
	size   int64
	crc    uint32
	hasCRC bool
}

func (e expect) check(name string, size int64, crc uint32) error {
	switch {
	case e.size >= 0 && size != e.size:
		return fmt.Errorf("%s has %d bytes, want %d: %w", name, size, e.size, fault.ErrCorrupt)
	case e.hasCRC && crc != e.crc:
		return fmt.Errorf("%s has CRC-32 %#x, want %#x: %w", name, crc, e.crc, fault.ErrChecksum)
	}
	return nil
}

// copyFile copies a file to a name in another file system. The file gets its name only when it is whole, synced and matches
// want. The folder is not synced. An error of the source, including damage, is a *sourceError.
func copyFile(ctx context.Context, from vfs.FS, src string, to vfs.FS, dst string, want expect) (size int64, crc uint32, err error) {
	f, err := from.Open(src)
	if err != nil {
		return 0, 0, &sourceError{err}
	}
	defer f.Close()
	perm := fs.FileMode(0o666)
	if st, err := from.Stat(src); err == nil {
		perm = st.Mode().Perm() | 0o600 // the copy gets no additional permissions
	}
	// Nodes that share caches may copy the same file at the same time. Therefore the temporary file has no owner.
	out, err := durable.CreateTemp(to, dst, durable.TempOptions{Perm: perm, Sync: true})
	if err != nil {
		return 0, 0, err
	}
	defer out.Discard()
	var failed error
	crc, size, err = vfs.Sum(ctx, f, func(b []byte, off int64) error {
		_, failed = out.WriteAt(b, off)
		return failed
	})
	if err != nil && failed == nil && ctx.Err() == nil {
		err = &sourceError{err}
	}
	if err != nil {
		return size, crc, err
	}
	if err := want.check(src, size, crc); err != nil {
		return size, crc, &sourceError{err}
	}
	if err := out.Finish(); err != nil {
		return size, crc, err
	}
	_ = vfs.CopyMeta(from, src, to, out.Name()) // best effort
	return size, crc, out.Rename()
}

// isLeft reports whether a file with this name was left by a crash.
func isLeft(name string) bool {
	return strings.HasSuffix(name, damagedSuffix) || durable.IsTemp(name)
}
