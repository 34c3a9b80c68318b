package lease

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// EachGrown calls f for each subfile of the last set of a variable-centric dataset, whose files grow in place. f receives the
// file's number of records, its size, and its size in the manifest.
func EachGrown(fsys vfs.FS, base string, m *subfile.Manifest, f func(name string, records, size, want int64) error) error {
	last := m.Last()
	for i := range last.Subfiles {
		name := subfile.Name(filepath.Join(subfile.Dir(base), last.Base), i)
		file, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file is lost or still has its partial name; Check reports such files
		}
		if err != nil {
			return err
		}
		var b [layout.NumrecsLen]byte
		size, err := file.Size()
		if err == nil {
			err = layout.ReadFull(file, b[:], layout.NumrecsAt, name, "numrecs")
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		if err := f(name, int64(binary.BigEndian.Uint64(b[:])), size, last.Subfiles[i].Size); err != nil {
			return err
		}
	}
	return nil
}

// OfManifest reports whether a subfile of the last set has the length and the header of the manifest. If it has not, the file
// under its name may belong to another dataset.
func OfManifest(fsys vfs.FS, name string, m *subfile.Manifest) (bool, error) {
	_, i, _ := subfile.Split(name)
	info := &m.Last().Subfiles[i]
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size < info.Size {
		return false, err
	}
	pl, _, err := dataset.DecodePlace(f, size, name, 0)
	if errors.As(err, new(*dataset.FormatError)) && !errors.As(err, new(*fs.PathError)) {
		return false, nil
	}
	if err != nil || pl.Plain || pl.Header.Len != info.HeaderLen {
		return false, err
	}
	crc, err := dataset.HeaderCRC(f, pl, name)
	return crc == info.HeaderCRC, err
}

// Cut truncates the growing subfiles to their sizes in the manifest, and reports whether it cut any. A file with several hard
// links must be copied first, which needs space, so Cut skips such files unless linked is true.
func Cut(fsys vfs.FS, base string, m *subfile.Manifest, ten *Tenure, linked bool) (made bool, _ error) {
	have := m.Last().Records
	err := EachGrown(fsys, base, m, func(name string, records, size, want int64) error {
		if records == have && size <= want {
			return nil
		}
		if is, err := OfManifest(fsys, name, m); !is {
			return err
		}
		if !linked {
			if info, err := fsys.Stat(name); err != nil || vfs.Links(info) != 1 {
				return err
			}
		}
		if err := subfile.Unshare(fsys, name, want, ten.By(), true); err != nil {
			return err
		}
		f, err := fsys.OpenRW(name)
		if err != nil {
			return err
		}
		err = ten.Check()
		if err == nil && records != have {
			err = SetRecords(f, have)
		}
		if err == nil && size > want {
			made, err = true, f.Truncate(want)
		}
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
	return made, err
}

// IsPartial reports whether name is a temporary name, which a commit replaces by the final name.
func IsPartial(name string) bool {
	_, _, ok := subfile.Final(name)
	return ok
}

// SetRecords writes the number of records into the header of a CDF-5 file.
func SetRecords(f vfs.File, records int64) error {
	var b [layout.NumrecsLen]byte
	binary.BigEndian.PutUint64(b[:], uint64(records))
	_, err := f.WriteAt(b[:], layout.NumrecsAt)
	return err
}
