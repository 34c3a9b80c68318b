package mapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

type kind uint8

const (
	kindDat kind = iota
	kindCDF
	kindHDF5
)

var (
	cdfMagic  = []byte("CDF")
	hdf5Magic = []byte("\x89HDF\r\n\x1a\n")
	datMagic  = []byte("version ")
	bpTag     = []byte("ADIOS-BP")
)

// bpFooter is the length of a BP3 footer: the offsets of three indices, then flags and the version.
const bpFooter = 28

// sniff determines the kind of a file from its content.
func sniff(r io.ReaderAt, size int64, name string) (kind, error) {
	if size <= 0 {
		return 0, fault.At(name, 0, "", fault.ErrTruncated, "the file is empty")
	}
	head, err := readPart(r, 0, min(size, 64))
	if err != nil {
		return 0, fault.At(name, 0, "", err, "cannot read the first bytes")
	}
	if bytes.HasPrefix(head, cdfMagic) {
		return kindCDF, nil
	}
	if bytes.HasPrefix(head, []byte(vfs.LFSPointer)) { // a pointer of Git LFS begins like PIO text
		return 0, fault.At(name, 0, "", fault.ErrNotFormat, "the file is a Git LFS pointer; \"git lfs pull\" fetches its content")
	}
	for off := int64(0); off+8 <= size; off = max(512, 2*off) {
		b, err := readPart(r, off, 8)
		if err != nil {
			return 0, fault.At(name, off, "", err, "cannot search for the HDF5 signature")
		}
		if bytes.Equal(b, hdf5Magic) {
			return kindHDF5, nil
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte(vfs.ByteOrderMark)), " \t\r\n"), datMagic) {
		return kindDat, nil
	}
	tail, err := readPart(r, max(0, size-64), min(size, 64))
	if err != nil {
		return 0, fault.At(name, max(0, size-64), "", err, "cannot read the last bytes")
	}
	if isBP(tail, size) {
		return 0, fault.At(name, size-int64(len(tail)), "footer", fault.ErrUnsupported, "found an ADIOS BP3 file, want PIO text, CDF, HDF5 or netCDF-4")
	}
	if bytes.HasPrefix(head, bpTag) {
		return 0, fault.At(name, 0, "", fault.ErrUnsupported, "found an ADIOS BP index, want PIO text, CDF, HDF5 or netCDF-4")
	}
	return 0, fault.At(name, 0, "", fault.ErrNotFormat, "found %s, want PIO text, CDF, HDF5 or netCDF-4", describe(head))
}

// isBP reports whether the last bytes of a file of that size look like a BP3 footer.
func isBP(tail []byte, size int64) bool {
	if bytes.Contains(tail, bpTag) {
		return true
	}
	if len(tail) < bpFooter {
		return false
	}
	f := tail[len(tail)-bpFooter:]
	if v := f[bpFooter-1]; v < 1 || v > 3 {
		return false
	}
	// process groups, variables, attributes, in this order, before the footer
	prev := int64(0)
	for i := range 3 {
		off := int64(binary.LittleEndian.Uint64(f[8*i:]))
		if off <= prev || off >= size-bpFooter+1 {
			return false
		}
		prev = off
	}
	return true
}

// bpDirectory returns an addition to an error text if a directory is in ADIOS BP4 or BP5 format,
// otherwise "".
func bpDirectory(path string) string {
	if _, err := os.Stat(filepath.Join(path, "md.idx")); err == nil {
		return " of ADIOS BP4 or BP5"
	}
	return ""
}

// describe describes an unknown file by its first bytes.
func describe(head []byte) string {
	if what, _ := vfs.Kind(head); what != "" {
		return what
	}
	return quote("a file that begins with ", head[:min(len(head), 16)])
}

func readPart(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	k, err := r.ReadAt(b, off)
	if int64(k) == n {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fault.ErrTruncated
	}
	return nil, err
}
