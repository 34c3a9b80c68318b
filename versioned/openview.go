package versioned

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/internal/base/vfs"
)

// View reads the versions of an array without ranks.
type View struct {
	cat    *catalog
	rec    *record
	dir    string
	spec   Spec
	fsys   vfs.FS
	sealed bool // encrypted, and no key was given
	key    []byte
}

// List returns the names of the arrays in a store, sorted.
func List(dir string, fsys vfs.FS) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		if IsArray(filepath.Join(dir, e.Name()), fsys) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// IsArray says whether a directory is that of an array: a record is there, or files of versions, whose record is lost then.
func IsArray(dir string, fsys vfs.FS) bool {
	fsys = vfs.OrOS(fsys)
	list, _ := fsys.ReadDir(dir)
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && (slices.Contains(recordNames, e.Name()) || dataRE.MatchString(e.Name()))
	})
}

// OpenView opens the directory of an array: the store's directory and the array's name below it. fsys nil is the operating system's. key is that of an
// encrypted store; without it all works but reading and checking elements (ErrKey).
func OpenView(dir string, fsys vfs.FS, key []byte) (*View, error) {
	v := &View{dir: dir, fsys: vfs.OrOS(fsys), key: key}
	var err error
	if v.rec, err = readRecord(v.fsys, dir); err != nil {
		return nil, err
	}
	opt := (&Options{Key: key}).withDefaults()
	if v.sealed = v.rec.Key != "" && len(key) == 0; !v.sealed {
		if err := keyFits(v.rec, &opt); err != nil {
			return nil, err
		}
	}
	v.spec, _ = v.rec.Spec.public() // checked by readRecord
	v.cat, err = newCatalog(v.rec, v.spec.Type, []*nodeStore{{v.fsys, dir}}, 0, &opt)
	return v, err
}

// Close releases the files.
func (v *View) Close() error {
	v.cat.close()
	return nil
}

// Spec of the array; Shape is that of the newest version.
func (v *View) Spec() Spec { return v.spec }

// Versions lists the committed versions, oldest first.
func (v *View) Versions() []VersionInfo { return v.rec.versions() }

// Encrypted says whether the chunks are.
func (v *View) Encrypted() bool { return v.rec.Key != "" }

// Bytes is what the files of the store hold.
func (v *View) Bytes() (n int64, files int) {
	for _, f := range v.rec.Files {
		n += f.Size
	}
	return n, len(v.rec.Files)
}

// Get reads the box [lo, hi) of a version, elements in the byte order of the host. Every chunk that is touched is
// read whole and verified.
func (v *View) Get(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if v.sealed {
		return fmt.Errorf("array %s is encrypted: %w", v.spec.Name, ErrKey)
	}
	return v.cat.get(ctx, v.rec, version, lo, hi, dst)
}
