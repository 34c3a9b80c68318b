package subfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"blobio/internal/vfs"
)

// peekBytes hold the first fields of a manifest.
const peekBytes = 512

// PeekID returns the ID of the record in force, from the beginning of its file: "" if there is no record, or none with
// an ID. A reader that has opened a file and then finds the ID that it knows has a file of that dataset, since another
// one announces itself before it takes the names.
func PeekID(fsys vfs.FS, base string) (string, error) {
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
			return "", err
		}
		if id, prepared := peek(b[:n]); prepared {
			return id, nil
		}
	}
	return "", nil
}

// peek reads fields of a JSON object that may be cut off.
func peek(b []byte) (id string, prepared bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for id == "" || !prepared {
		key, err := d.Token()
		if err != nil {
			break
		}
		value, err := d.Token()
		if err != nil {
			break
		}
		switch key {
		case "id":
			id, _ = value.(string)
		case "prepared":
			if prepared, _ = value.(bool); !prepared {
				return "", false
			}
		}
	}
	return id, prepared
}
