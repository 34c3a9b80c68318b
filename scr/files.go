package scr

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"

	"blobio/internal/scr/cachedir"
	"blobio/internal/vfs"
)

const sumPiece = 1 << 20

// sumFile is the CRC-32 of a file and its size in bytes.
func sumFile(fsys vfs.FS, name string) (uint32, int64, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return sum(f)
}

func sum(f vfs.File) (uint32, int64, error) {
	size, err := f.Size()
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, min(sumPiece, max(size, 1)))
	var crc uint32
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		n, err := f.ReadAt(b, off)
		if n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		off += int64(n)
	}
	return crc, size, nil
}

// syncFile makes a file durable and returns its CRC-32 and size.
func syncFile(fsys vfs.FS, name string) (uint32, int64, error) {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	crc, size, err := sum(f)
	if err != nil {
		return 0, 0, err
	}
	return crc, size, vfs.SyncParent(fsys, name)
}

// checkFiles compares the files of this rank with its file map; with sums their bytes too, where the map knows them.
func (j *job) checkFiles(d *cachedSet, sums bool) error {
	fsys := j.fileFS(d)
	for _, f := range d.maps.Files() {
		st, err := fsys.Stat(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", f.Name, ErrMissing)
		case err != nil:
			return err
		case st.Size() != f.Meta.Size:
			return fmt.Errorf("%s: %w: %d bytes, the file map says %d", f.Name, ErrCorrupt, st.Size(), f.Meta.Size)
		case !f.Meta.Complete:
			return fmt.Errorf("%s: %w: not complete", f.Name, ErrMissing)
		}
		if !sums || !f.Meta.HasCRC {
			continue
		}
		crc, _, err := sumFile(fsys, f.Name)
		if err != nil {
			return err
		}
		if crc != f.Meta.CRC {
			return fmt.Errorf("%s: %w: CRC-32 %#x, the file map says %#x", f.Name, ErrChecksum, crc, f.Meta.CRC)
		}
	}
	return nil
}

// groupPrefix begins the names of the redundancy files of a group.
func groupPrefix(dir, group string) string { return path.Join(cachedir.MetaDir(dir), group) }
