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

// Header returns the header of the dataset as an ordinary netCDF file, in CDF-5: all its dimensions, variables and attributes.
func Header(r *blob.Reader) ([]byte, error) {
	c, err := r.Canonical(nil)
	if err != nil {
		return nil, err
	}
	return c.Header().AppendTo(nil, binary.BigEndian, false)
}

// StateOf returns 32 hexadecimal digits that differ between any two committed states of a dataset: another Create or Append
// gives others. Without a manifest they come from the names, lengths and times of the files, and from nothing that
// differs between the machines of a cluster that see the same ones.
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
