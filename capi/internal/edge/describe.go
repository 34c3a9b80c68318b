package edge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"blobio/blob"
	"blobio/cdf5"
)

// Header returns the header of the dataset as an ordinary netCDF file, in CDF-5: all its dimensions, variables and attributes.
func Header(s *blob.Schema, records int64) ([]byte, error) {
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: records, Dims: s.Dims(), Atts: s.Attributes()}
	for _, v := range s.Vars() {
		hv := cdf5.Var{Name: v.Name, Type: v.Type, Atts: v.Atts}
		for _, d := range v.Dims {
			hv.Dims = append(hv.Dims, int(d))
		}
		h.Vars = append(h.Vars, hv)
	}
	if err := h.Layout(nil); err != nil {
		return nil, err
	}
	return h.AppendTo(nil, binary.BigEndian, false)
}

// StateOf returns 32 hexadecimal digits that differ between any two committed states of a dataset: another Create or Append
// gives others. Without a manifest they come from the names, lengths and times of the files.
func StateOf(r *blob.Reader) (string, error) {
	h := sha256.New()
	if m := r.Manifest(); m != nil {
		fmt.Fprintf(h, "manifest %q %q %d\n", m.ID, m.Writer, m.Records)
	} else {
		for _, f := range r.Files() {
			info, err := os.Stat(f.Name)
			switch {
			case f.Missing && errors.Is(err, fs.ErrNotExist):
				fmt.Fprintf(h, "missing %q\n", f.Name)
			case err != nil:
				return "", err
			default:
				fmt.Fprintf(h, "file %q %d %d\n", f.Name, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
