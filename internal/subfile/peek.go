package subfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// peekBytes is enough for the first fields of a manifest.
const peekBytes = 512

// Peek returns the ID of the record in force and the tag of its log, from the first bytes of the record. log is "" if the record
// names no log. id is "" if there is no record with an ID. If a reader opens a file and Peek then returns the known ID, the file
// belongs to that dataset, because a replacing writer writes its record before it renames files.
func Peek(fsys vfs.FS, base string) (id, log string, err error) {
	fsys = vfs.OrOS(fsys)
	for _, name := range []string{NextName(base), ManifestName(base)} { // first the .manifest.next, because a commit renames it to the .manifest
		var first, again []byte
		err := vfs.Again(func() (read, err error) {
			f, err := fsys.Open(name)
			if err != nil {
				return nil, err
			}
			if first, read = peekAt(f, 0); read == nil {
				if size, err := f.Size(); err == nil {
					again, read = peekAt(f, manifests.CopyAt(size))
				} else {
					read = err
				}
			}
			return errors.Join(read, f.Close()), nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		id, log, prepared := peek(first)
		if id2, log2, prepared2 := peek(again); manifests.In(again) && (id != id2 || log != log2 || prepared != prepared2) { // one of the two copies of the record is damaged
			m, err := readManifest(fsys, base, name)
			switch {
			case err == nil:
				id, log, prepared = m.ID, m.Log, m.Prepared
			case errors.Is(err, fs.ErrNotExist):
				continue
			case !errors.As(err, new(*fault.FormatError)):
				return "", "", err
			}
		}
		if prepared {
			return id, log, nil
		}
	}
	return "", "", nil
}

// peekAt reads the bytes that peek examines.
func peekAt(f vfs.File, off int64) ([]byte, error) {
	b := make([]byte, peekBytes)
	n, err := f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// peek reads fields of a JSON object that may be truncated.
func peek(b []byte) (id, log string, prepared bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", "", false
	}
	for {
		key, err := d.Token()
		if err != nil {
			return id, log, prepared
		}
		value, err := d.Token()
		if err != nil {
			return id, log, prepared
		}
		switch key {
		case "id":
			id, _ = value.(string)
		case "prepared":
			if prepared, _ = value.(bool); !prepared {
				return "", "", false
			}
		case "log":
			if log, _ = value.(string); !durable.IsTag(log) { // the tag becomes part of a name
				log = ""
			}
		case "layout": // the wanted fields come before this field
			return id, log, prepared
		}
	}
}
