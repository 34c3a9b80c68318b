package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/testfiles"
)

// headerBlobAt is the offset of the raw header_blob in the reference's HDF5 files. No format defines this offset: it follows from
// the behavior of the HDF5 library.
const headerBlobAt = 2048

// TestVectors decodes every header that E3SM-IO wrote, encodes it to the same bytes, and computes the same layout again.
func TestVectors(t *testing.T) {
	for _, path := range vectorPaths(t) {
		t.Run(path[strings.Index(path, "e3sm"):], func(t *testing.T) {
			file := testfiles.Unzstd(t, path)
			order, at := binary.ByteOrder(binary.BigEndian), 0
			o := &cdf5.DecodeOptions{File: filepath.Base(path), Note: func(e *cdf5.FormatError) { t.Errorf("note: %v", e) }}
			blob := strings.Contains(path, "hdf5")
			if blob {
				order, at = binary.LittleEndian, headerBlobAt
				o.Order, o.NoBegins, o.Base = cdf5.AutoOrder, true, headerBlobAt
			}
			h, n, err := cdf5.DecodeHeader(bytes.NewReader(file[at:]), int64(len(file)-at), o)
			must(err)
			if n != h.EncodedLen() {
				t.Errorf("header of %d bytes, EncodedLen %d", n, h.EncodedLen())
			}
			enc := need(h.AppendTo(nil, order, blob))
			if !bytes.Equal(enc, file[at:at+int(n)]) {
				t.Errorf("encoded header differs")
			}
			again := *h
			again.Vars = slices.Clone(h.Vars)
			for i := range again.Vars {
				again.Vars[i].VSize, again.Vars[i].Begin = 0, 0
			}
			// PnetCDF 1.12, which wrote these files, aligns the data to 512 bytes.
			must(again.Layout(&cdf5.LayoutOptions{HeaderAlign: 512}))
			for i := range h.Vars {
				got, want := again.Vars[i], h.Vars[i]
				if got.VSize != want.VSize || (!blob && got.Begin != want.Begin) {
					t.Fatalf("var %q: vsize %d begin %d, want %d %d", want.Name, got.VSize, got.Begin, want.VSize, want.Begin)
				}
			}
			// The canonical file of the I case is shorter than its header requires, because no rank owns the last elements.
			early := strings.Contains(path, "I_pnetcdf_canonical")
			if size := again.FileSize(h.NumRecs); !blob && size != int64(len(file)) && !(early && size > int64(len(file))) {
				t.Errorf("FileSize %d, the file has %d", size, len(file))
			}
		})
	}
}

// vectorPaths lists the files that E3SM-IO wrote. With -short it lists only one run of each case and library.
func vectorPaths(t *testing.T) []string {
	var paths []string
	err := filepath.WalkDir(testfiles.Dir(t, "e3sm"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".zst") && (!testing.Short() || strings.Contains(path, "np4_nodes1")) {
			paths = append(paths, path)
		}
		return err
	})
	must(err)
	return paths
}
