package versioned

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// The record is stored in two files. The replacement of the first file commits a change: a new version, the drop of a version,
// or a new generation.

// readRecord returns the newest sound record of a directory. It returns ErrMissing if there is neither a record nor a data file.
// If there are data files but no record, the record was lost, and readRecord returns an error of class ErrCorrupt.
func readRecord(fsys vfs.FS, dir string) (*record, error) {
	rec, bad := readRecords(fsys, dir)
	if rec != nil {
		return rec, nil
	}
	for _, err := range bad {
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	list, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if arrays.DataName.MatchString(e.Name()) { // a data file shows that there was a record, which is written first
			return nil, fault.At(filepath.Join(dir, recordName), -1, "seal", ErrCorrupt, "absent, but versions exist (%s); \"blobio versions rebuild\" rebuilds the seal", e.Name())
		}
	}
	return nil, fmt.Errorf("%s: no array of this name: %w", dir, ErrMissing)
}

// readRecords reads both files. best is the newest sound record, or nil. bad has an error for each file that is damaged or older
// than best.
func readRecords(fsys vfs.FS, dir string) (best *record, bad []error) {
	var recs []*record
	for _, n := range arrays.Seals {
		name := filepath.Join(dir, n)
		b, err := vfs.ReadFile(fsys, name, durable.MaxSeal)
		var r *record
		if err == nil {
			r, err = decodeRecord(b, name)
		}
		if err != nil {
			r = nil
		}
		if r != nil && (best == nil || r.Seq > best.Seq) {
			best = r
		}
		recs, bad = append(recs, r), append(bad, err)
	}
	for i, r := range recs {
		if r != nil && r.Seq < best.Seq {
			bad[i] = fault.At(filepath.Join(dir, arrays.Seals[i]), 0, "seq", ErrCorrupt, "%d, the other seal has %d", r.Seq, best.Seq)
		}
	}
	return best, bad
}

// lastSeq returns the commit number of the newest sound record in a directory, or 0. It ignores a damaged record, which the next
// commit replaces. A record of a newer program, or a record that is temporarily unreadable, is an error, because it may be
// undamaged.
func lastSeq(fsys vfs.FS, dir string) (int64, error) {
	rec, bad := readRecords(fsys, dir)
	for _, err := range bad {
		if err != nil && (!unreadable(err) || errors.Is(err, fault.ErrVersion)) {
			return 0, err
		}
	}
	if rec == nil {
		return 0, nil
	}
	return rec.Seq, nil
}

// damaged reports whether an error is about the content of a file.
func damaged(err error) bool {
	var fe *fault.FormatError
	return errors.As(err, &fe)
}

// unreadable reports whether an error means that a file is damaged or absent. Other versions may then still be readable.
func unreadable(err error) bool { return damaged(err) || errors.Is(err, fs.ErrNotExist) }

// recordWriter is the owner's name in the names of temporary files of the record. It need not distinguish programs, because
// commit numbers reveal programs that write an array at the same time.
const recordWriter = "versioned"

// writeRecord replaces both files of the record. After an UnsureError it is unknown which record would survive a power loss.
func writeRecord(fsys vfs.FS, dir string, rec *record, sync bool) error {
	b, err := rec.encode()
	if err != nil {
		return err
	}
	names := make([]string, len(arrays.Seals))
	for i, n := range arrays.Seals {
		names[i] = filepath.Join(dir, n)
	}
	return durable.ReplaceAll(fsys, names, b, durable.ReplaceOptions{Owner: recordWriter, Sync: sync, SyncDir: sync})
}

// Files of an array.
const (
	leftPrefix = "left-" // prefix of data files that Rebuild could not use
	dataExt    = ".fti"
)

var recordName, secondName = arrays.Seals[0], arrays.Seals[1]

func dataName(gen int, version int64, rank int) string {
	return fmt.Sprintf("g%d-v%d-r%d%s", gen, version, rank, dataExt)
}

// isData reports whether name can be the name of a data file.
func isData(name string) bool { return strings.HasSuffix(name, dataExt) && name[0] == 'g' }

// Error classes, re-exported.
var (
	ErrExist     = fault.ErrExist
	ErrMissing   = fault.ErrMissing
	ErrBroken    = fault.ErrBroken
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrNotFormat = fault.ErrNotFormat
)

var (
	// ErrNoVersion means that the version does not exist or was dropped.
	ErrNoVersion = fault.ErrNoVersion
	// ErrConflict means that another program has changed the store since this program opened it.
	ErrConflict = fault.ErrInUse
	// ErrTainted means that versions are marked as tainted. OpenAt can open such versions.
	ErrTainted = fault.ErrTainted
	// ErrKey means that the store is encrypted, and the key is missing or wrong.
	ErrKey = errors.New("wrong key")
)
