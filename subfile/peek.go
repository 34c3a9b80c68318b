package subfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// peekBytes hold the first fields of a manifest.
const peekBytes = 512

// Peek returns the ID of the record in force and the tag of the log that it names, "" if none, from the beginning of its file. The ID is "" if there is no record, or
// none with an ID. A reader that has opened a file and then finds the ID that it knows has a file of that dataset, since another
// one announces itself before it takes the names.
func Peek(fsys vfs.FS, base string) (id, log string, err error) {
	fsys = vfs.OrOS(fsys)
	for _, name := range []string{NextName(base), ManifestName(base)} { // in this order: the one becomes the other
		b, n := make([]byte, peekBytes), 0
		err := vfs.Again(func() (read, err error) {
			f, err := fsys.Open(name)
			if err != nil {
				return nil, err
			}
			if n, read = f.ReadAt(b, 0); errors.Is(read, io.EOF) {
				read = nil
			}
			return errors.Join(read, f.Close()), nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		if id, log, prepared := peek(b[:n]); prepared {
			return id, log, nil
		}
	}
	return "", "", nil
}

// peek reads fields of a JSON object that may be cut off.
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
			if log, _ = value.(string); !durable.IsTag(log) { // it is to become part of a name
				log = ""
			}
		case "layout": // what is asked for comes before
			return id, log, prepared
		}
	}
}
