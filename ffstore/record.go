package ffstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"time"

	"blobio/ffformat"
	"blobio/internal/vfs"
)

// recordName is the file whose replacement commits a checkpoint.
const recordName = "checkpoints"

// maxRecord bounds the commit record in bytes: maxKeep entries take far less.
const maxRecord = 1 << 20

// maxKeep bounds Options.Keep.
const maxKeep = 64

// record is the commit record: which checkpoints there are, and in which slot.
type record struct {
	Format string `json:"format"` // recordFormat
	Ver    int    `json:"version"`
	Seq    int64  `json:"seq"` // 1, 2, ...: number of the commit
	Ranks  int    `json:"ranks"`
	Layout string `json:"layout"`
	Hash   string `json:"hash"`
	Slots  int    `json:"slots"`

	Checkpoints []entry `json:"checkpoints"` // oldest first
}

// entry is one committed checkpoint.
type entry struct {
	ID    int32 `json:"id"`
	Slot  int   `json:"slot"`
	Time  int64 `json:"time_ns"` // since 1970, UTC; in the file block of every rank's file
	Data  int64 `json:"data"`    // bytes of all ranks' variables
	Files int64 `json:"bytes"`   // bytes of all ranks' files
	Vars  int64 `json:"vars"`    // variables of all ranks
}

const recordFormat = "blobio ff checkpoints"

var layoutByName = func() map[string]ffformat.Layout {
	m := map[string]ffformat.Layout{}
	for _, l := range ffformat.Layouts() {
		m[l.String()] = l
	}
	return m
}()

func hashName(h ffformat.Hash) string {
	if h == ffformat.Fast {
		return "fast"
	}
	return "md5"
}

// encode returns the file: one line of JSON, one with its CRC-32.
func (r *record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	return fmt.Appendf(b, "crc32 %08x\n", crc32.ChecksumIEEE(b)), nil
}

// decodeRecord reads what encode wrote and holds every field against what it can be.
func decodeRecord(b []byte, name string) (*record, error) {
	line, rest, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return nil, formatErr(name, int64(len(b)), "record", ErrTruncated, "no line of JSON")
	}
	line = b[:len(line)+1]
	var r record
	if err := json.Unmarshal(line, &r); err != nil || r.Format != recordFormat {
		return nil, formatErr(name, 0, "format", ErrNotFormat, "%q, want %q", r.Format, recordFormat)
	}
	if want := fmt.Sprintf("crc32 %08x\n", crc32.ChecksumIEEE(line)); string(rest) != want {
		return nil, formatErr(name, int64(len(line)), "crc32", ErrChecksum, "%q, want %q", rest[:min(len(rest), 20)], want)
	}
	bad := func(field, format string, args ...any) (*record, error) {
		return nil, formatErr(name, 0, field, ErrCorrupt, format, args...)
	}
	switch {
	case r.Ver != 1:
		return nil, formatErr(name, 0, "version", ErrVersion, "%d, want 1", r.Ver)
	case r.Seq < 1:
		return bad("seq", "%d, want at least 1", r.Seq)
	case r.Ranks < 1:
		return bad("ranks", "%d, want at least 1", r.Ranks)
	case layoutByName[r.Layout] == 0:
		return bad("layout", "%q", r.Layout)
	case r.Hash != "md5" && r.Hash != "fast":
		return bad("hash", "%q, want md5 or fast", r.Hash)
	case r.Slots < 2 || r.Slots > maxKeep+1:
		return bad("slots", "%d, want 2 to %d", r.Slots, maxKeep+1)
	case len(r.Checkpoints) >= r.Slots:
		return bad("checkpoints", "%d in %d slots, one of which must be free", len(r.Checkpoints), r.Slots)
	}
	slots := map[int]bool{}
	for i, e := range r.Checkpoints {
		switch {
		case e.ID < 1 || i > 0 && e.ID <= r.Checkpoints[i-1].ID:
			return bad("id", "%d after %d", e.ID, r.Checkpoints[max(i-1, 0)].ID)
		case e.Slot < 0 || e.Slot >= r.Slots || slots[e.Slot]:
			return bad("slot", "%d of checkpoint %d, of %d slots, or twice", e.Slot, e.ID, r.Slots)
		case e.Data < 0 || e.Files < 0 || e.Vars < 0:
			return bad("data", "negative")
		}
		slots[e.Slot] = true
	}
	return &r, nil
}

// readRecord returns nil if there is none.
func readRecord(fsys vfs.FS, dir string) (*record, error) {
	name := filepath.Join(dir, recordName)
	b, err := vfs.ReadFile(fsys, name, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(b, name)
}

// commit replaces the record. After an error uncertain says that the new one may be
// what a reader finds, now or after a crash.
func (r *record) commit(fsys vfs.FS, dir string, d Durability) (uncertain bool, err error) {
	b, err := r.encode()
	if err != nil {
		return false, err
	}
	name := filepath.Join(dir, recordName)
	if err := replaceFile(fsys, name, b, d); err != nil {
		return errors.Is(err, errAfterRename), err
	}
	return false, nil
}

// errAfterRename marks an error of replaceFile after which the new content may be there.
var errAfterRename = errors.New("after the rename")

// replaceFile gives a name new content, whole or not at all.
func replaceFile(fsys vfs.FS, name string, b []byte, d Durability) error {
	next := name + ".next"
	if err := fsys.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(next)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && d != DurableNone {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		if err = fsys.Rename(next, name); err == nil {
			if d == DurableCommit {
				if err = vfs.SyncParent(fsys, name); err != nil {
					return fmt.Errorf("%w (%w)", err, errAfterRename)
				}
			}
			return nil
		}
		// Whether a failed rename has happened is not known on every file system.
		return fmt.Errorf("%w (%w)", err, errAfterRename)
	}
	fsys.Remove(next) //nolint:errcheck // the next one removes it
	return err
}

// info is an entry as callers see it.
func (e *entry) info(ranks int) Info {
	return Info{ID: e.ID, Time: time.Unix(0, e.Time).UTC(), Ranks: ranks, Vars: e.Vars, Data: e.Data, Bytes: e.Files, Slot: e.Slot}
}

// Info is one committed checkpoint.
type Info struct {
	ID    int32     `json:"id"`
	Time  time.Time `json:"time"`
	Ranks int       `json:"ranks"`
	Vars  int64     `json:"vars"`  // variables of all ranks
	Data  int64     `json:"data"`  // bytes of the variables of all ranks
	Bytes int64     `json:"bytes"` // bytes of the files of all ranks
	Slot  int       `json:"slot"`
}
