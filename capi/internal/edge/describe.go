package edge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"blobio/blob"
)

// Header returns the dataset's header in the form of an ordinary CDF-5 file, with all dimensions, variables and attributes.
func Header(r *blob.Reader) ([]byte, error) {
	c, err := r.Canonical(nil)
	if err != nil {
		return nil, err
	}
	return c.Header().AppendTo(nil, binary.BigEndian, false)
}

// StateOf returns 32 hexadecimal digits that identify a committed state of a dataset. Every Create and Append changes them.
// Without a manifest, StateOf derives them from the names, lengths and times of the files, which are the same on all machines
// that share the files.
func StateOf(r *blob.Reader) (string, error) {
	h := sha256.New()
	if m := r.Manifest(); m != nil {
		fmt.Fprintf(h, "manifest %q %q %d\n", m.ID, m.Writer, m.Records)
	} else {
		for _, f := range r.Inspect().Files() {
			info, err := os.Stat(f.Name)
			switch {
			case f.Missing && errors.Is(err, fs.ErrNotExist):
				fmt.Fprintf(h, "missing %q\n", filepath.Base(f.Name))
			case err != nil:
				return "", err
			default:
				fmt.Fprintf(h, "file %q %d %d\n", filepath.Base(f.Name), info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
