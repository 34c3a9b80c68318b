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

// The record is in two files. Replacing the first one commits a version, drops one, or starts a generation.

// readRecord returns the newest one of a directory that is sound. ErrMissing: there is none, and no file of a version either; where there are such files a record
// was lost, which is an error of the class ErrCorrupt.
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
		if arrays.DataName.MatchString(e.Name()) { // written after the first record
			return nil, fault.At(filepath.Join(dir, recordName), -1, "seal", ErrCorrupt, "absent, but versions exist (%s); \"blobio versions rebuild\" rebuilds the seal", e.Name())
		}
	}
	return nil, fmt.Errorf("%s: no array of this name: %w", dir, ErrMissing)
}

// readRecords reads both files. best is the newest sound record, nil if there is none; bad has an error for each file that is not sound, or
// older than best.
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

// lastSeq is the number of the newest sound record in a directory, 0 if there is none. A damaged record does not count: the next commit mends it.
// A record of a newer program, and one that cannot be read now, are errors: they may be whole.
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

// unreadable reports whether an error is about the content of a file, or its absence: another version may still be readable.
func unreadable(err error) bool { return damaged(err) || errors.Is(err, fs.ErrNotExist) }

// recordWriter is the owner of the files that replace the record. Programs that write an array at once differ in the numbers of
// their commits.
const recordWriter = "versioned"

// writeRecord replaces the record, both files of it. After an UnsureError
// nobody knows which one a power loss would leave.
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
	leftPrefix = "left-" // before the names of files that Rebuild had no use for
	dataExt    = ".fti"
)

var recordName, secondName = arrays.Seals[0], arrays.Seals[1]

func dataName(gen int, version int64, rank int) string {
	return fmt.Sprintf("g%d-v%d-r%d%s", gen, version, rank, dataExt)
}

// isData reports whether a name can belong to a data file.
func isData(name string) bool { return strings.HasSuffix(name, dataExt) && name[0] == 'g' }

// Classes of errors, re-exported.
var (
	ErrExist     = fault.ErrExist
	ErrMissing   = fault.ErrMissing
	ErrBroken    = fault.ErrBroken
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrNotFormat = fault.ErrNotFormat
)

var (
	// ErrNoVersion: there is no such version, or no longer.
	ErrNoVersion = errors.New("no such version")
	// ErrConflict: another program has changed the store since it was opened.
	ErrConflict = fault.ErrInUse
	// ErrTainted: the versions are marked as tainted. OpenAt opens one all the same.
	ErrTainted = errors.New("tainted")
	// ErrKey: the store is encrypted, and the key is missing or another one.
	ErrKey = errors.New("wrong key")
)
