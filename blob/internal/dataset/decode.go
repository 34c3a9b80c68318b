package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// findH5 finds the datasets of header and data, and the index of a compressed file.
func findH5(hf *h5.File) (hd, dd, xd *h5.Dataset, herr, derr error) {
	hd, herr = hf.Dataset("/" + layout.HeaderBlob)
	dd, derr = hf.Dataset("/" + layout.DataBlob)
	if !errors.Is(herr, fault.ErrMissing) || !errors.Is(derr, fault.ErrMissing) {
		return hd, dd, nil, herr, derr
	}
	h, herr2 := hf.Dataset("/" + layout.HeaderPacked)
	if errors.Is(herr2, fault.ErrMissing) {
		return hd, dd, nil, herr, derr
	}
	if herr2 != nil {
		return nil, nil, nil, herr2, nil
	}
	if dd, derr = hf.Dataset("/" + layout.DataPacked); derr != nil {
		return h, nil, nil, nil, derr
	}
	xd, derr = hf.Dataset("/" + layout.IndexPacked)
	return h, dd, xd, nil, derr
}

// DecodePlace recognises the kind of a file by its content, and reads its header. most is the maximum length of the header in
// bytes; 0 means the limit of cdf5.
func DecodePlace(f io.ReaderAt, size int64, name string, most int64) (*Place, int64, error) {
	magic := make([]byte, min(size, int64(len(vfs.LFSPointer))))
	if _, err := f.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	probe := &errReader{r: f}
	switch {
	case bytes.HasPrefix(magic, []byte("CDF")):
		return decodeCDF(f, size, name, most)
	case h5.IsHDF5(probe, size):
		p, records, err := decodeH5(probe, size, name, most)
		if err != nil && probe.err != nil && !errors.Is(err, probe.err) {
			err = fmt.Errorf("%s: %w", name, probe.err)
		}
		return p, records, err
	case probe.err != nil:
		return nil, 0, fmt.Errorf("%s: cannot search for the HDF5 signature: %w", name, probe.err)
	case len(magic) == 0:
		return nil, 0, fault.At(name, 0, "magic", ErrTruncated, "the file is empty")
	}
	if string(magic) == vfs.LFSPointer {
		return nil, 0, fault.At(name, 0, "magic", ErrNotFormat, "the file is a Git LFS pointer; \"git lfs pull\" fetches its content")
	}
	return nil, 0, fault.At(name, 0, "magic", ErrNotFormat, "%q, want a CDF or HDF5 file", magic[:min(len(magic), 8)])
}

// errReader keeps a read error that another package would report as "not found".
type errReader struct {
	r   io.ReaderAt
	err error
}

func (e *errReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := e.r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		e.err = err
	}
	return n, err
}

func decodeCDF(f io.ReaderAt, size int64, name string, most int64) (*Place, int64, error) {
	var twice *fault.FormatError
	h, n, err := cdf5.DecodeHeader(f, size, &cdf5.DecodeOptions{File: name, MaxHeader: most, Twice: func(e *fault.FormatError) {
		if twice == nil {
			twice = e
		}
	}})
	if err != nil {
		return nil, 0, err
	}
	if isBlobHeader(h) {
		if twice != nil { // no writer of subfiles makes duplicates, and sets are assembled by name
			twice.Err = ErrCorrupt
			return nil, 0, twice
		}
		if h.Version != cdf5.CDF5 {
			return nil, 0, fault.At(name, 3, "version", ErrVersion, "%v, want CDF-5 for a blob subfile", h.Version)
		}
		s, sh, err := parseBlobHeader(h, name, 0)
		if err != nil {
			return nil, 0, err
		}
		p := NewPlace(VariableCentric, false, size)
		p.SetHeader(h, n, s, sh)
		return p, h.Records(size), nil
	}
	s, err := parseCanonical(h, name)
	if err != nil {
		return nil, 0, err
	}
	p := NewPlace(Canonical, false, size)
	p.SetHeader(h, n, s, &layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1})
	return p, h.Records(size), nil
}

func decodeH5(f io.ReaderAt, size int64, name string, most int64) (*Place, int64, error) {
	hf, err := h5.NewFile(f, size, name)
	if err != nil {
		return nil, 0, err
	}
	hd, dd, xd, herr, derr := findH5(hf)
	if herr != nil || derr != nil {
		for _, err := range []error{herr, derr} {
			switch {
			case err == nil || errors.Is(err, fault.ErrMissing):
			case errors.Is(err, ErrUsage): // the object exists, but is not a dataset
				return nil, 0, fault.At(name, -1, "root group", ErrCorrupt, "%s", strings.TrimPrefix(err.Error(), name+": "))
			default:
				return nil, 0, err
			}
		}
		lacks := layout.HeaderBlob
		if herr == nil {
			lacks = layout.DataBlob
		} else if derr != nil {
			lacks += " and no " + layout.DataBlob
		}
		return nil, 0, fault.At(name, -1, "root group", ErrNotFormat, "no %s, so the HDF5 file is not a process-centric blob file", lacks)
	}
	extent := func(d *h5.Dataset, what string) (off, n int64, err error) {
		dims := d.Dims()
		if len(dims) != 1 || d.Type().Size() != 1 {
			return 0, 0, fault.At(name, -1, "dataset "+what, ErrCorrupt, "%v of type %v, want one dimension of bytes", dims, d.Type())
		}
		off, ok := d.Offset()
		if !ok && dims[0] > 0 {
			return 0, 0, fault.At(name, -1, "dataset "+what, ErrUnsupported, "the storage is not contiguous")
		}
		if !ok {
			off = size // HDF5 stores no address for an empty dataset
		}
		if off < 0 || dims[0] > size-off {
			return 0, 0, fault.At(name, off, "dataset "+what, ErrTruncated, "%d bytes, but the file ends at %d", dims[0], size)
		}
		return off, dims[0], nil
	}
	p := NewPlace(ProcessCentric, xd != nil, size)
	if xd != nil {
		p.Packed = new(layout.Packed)
		if p.Packed.IndexOff, p.Packed.IndexLen, err = extent(xd, layout.IndexPacked); err != nil {
			return nil, 0, err
		}
	}
	hlen := int64(0)
	if p.Header.Off, hlen, err = extent(hd, layout.HeaderBlob); err != nil {
		return nil, 0, err
	}
	if p.DataOff, p.DataLen, err = extent(dd, layout.DataBlob); err != nil {
		return nil, 0, err
	}
	h, n, err := cdf5.DecodeHeader(io.NewSectionReader(f, p.Header.Off, hlen), hlen,
		&cdf5.DecodeOptions{File: name, Base: p.Header.Off, Order: cdf5.AutoOrder, NoBegins: true, ZeroDims: true, MaxHeader: most})
	if err != nil {
		return nil, 0, err
	}
	if n != hlen {
		return nil, 0, fault.At(name, p.Header.Off+n, layout.HeaderBlob, ErrCorrupt, "the header has %d bytes, but the dataset has %d", n, hlen)
	}
	if p.Big, err = headerIsBig(f, p.Header.Off, name); err != nil {
		return nil, 0, err
	}
	empty := emptyMapDims(h)
	s, sh, err := parseBlobHeader(h, name, p.Header.Off)
	if err != nil {
		return nil, 0, err
	}
	p.SetHeader(h, hlen, s, sh)
	if p.Packed != nil {
		p.Packed.Stored, p.DataLen = p.DataLen, 0
		if err := layout.ParsePacked(f, &p.Place, name); err != nil {
			return nil, 0, err
		}
		p.Schema.Atts = slices.DeleteFunc(slices.Clone(p.Schema.Atts), func(a cdf5.Att) bool { return a.Name == layout.AttPacked })
	}
	for _, d := range empty {
		if d -= len(p.Schema.Dims) + 1; d < p.Header.Maps {
			p.Shape.Elems[d] = 0
		} else {
			p.Shape.MaxReqs[d-p.Header.Maps] = 0
		}
	}
	if h.NumRecs < 0 {
		return nil, 0, fault.At(name, p.Header.Off+layout.NumrecsAt, "numrecs", ErrCorrupt, "%d, want >= 0", h.NumRecs)
	}
	if err := checkBlobSize(h, name, p.Header.Off); err != nil {
		return nil, 0, err
	}
	p.Blob = layout.NewBlob(p.Vars, p.Shape, h.NumRecs)
	return p, h.NumRecs, nil
}

// checkBlobSize limits the size of a blob, which is at most the total size of the header's variables. If this total is less
// than half of the range of int64, no offset in a blob can overflow.
func checkBlobSize(h *cdf5.Header, name string, at int64) error {
	left := int64(math.MaxInt64 / 2)
	for v := range h.Vars {
		n := h.Bytes(v)
		if h.IsRecord(v) && h.NumRecs > 0 {
			if n > left/h.NumRecs {
				return fault.At(name, at+layout.NumrecsAt, "numrecs", ErrCorrupt, "%d records of %q exceed the limit of 2^62 bytes", h.NumRecs, h.Vars[v].Name)
			}
			n *= h.NumRecs
		}
		if left -= n; left < 0 {
			return fault.At(name, layout.NewLocator(h, at).DimIDs(v), fmt.Sprintf("variable %q", h.Vars[v].Name), ErrCorrupt, "the variables up to this one exceed the limit of 2^62 bytes")
		}
	}
	return nil
}

// emptyMapDims finds the dimensions Dk.nelems and Dk.max_nreqs of length 0. E3SM-IO writes them for a subfile without
// elements of a map, but 0 also means unlimited. The function gives them length 1, like blobio, and returns their ids. Later
// checks reject any other second dimension of length 0.
func emptyMapDims(h *cdf5.Header) (ids []int) {
	blobs := h.DimIndex(layout.DimBlobs)
	for d := range h.Dims {
		if blobs >= 0 && d > blobs && h.Dims[d].Len == 0 {
			h.Dims[d].Len = 1
			ids = append(ids, d)
		}
	}
	return ids
}

// headerIsBig finds the byte order by the first tag, which must be NC_DIMENSION (10).
func headerIsBig(f io.ReaderAt, off int64, name string) (bool, error) {
	var b [4]byte
	if _, err := f.ReadAt(b[:], off+layout.NumrecsAt+layout.NumrecsLen); err != nil {
		return false, fault.At(name, off+layout.NumrecsAt+layout.NumrecsLen, "first tag", ErrTruncated, "%v", err)
	}
	return b[3] != 0, nil
}

// HeaderCRC returns the checksum of the header in the file, in which numrecs is replaced by zeros.
func HeaderCRC(f io.ReaderAt, pl *Place, name string) (subfile.CRC, error) {
	b := make([]byte, pl.Header.Len) // safe to allocate: the header was decoded, so the file has these bytes
	if err := layout.ReadFull(f, b, pl.Header.Off, name, "header"); err != nil {
		return 0, err
	}
	clear(b[layout.NumrecsAt : layout.NumrecsAt+layout.NumrecsLen])
	return subfile.CRC(crc32.ChecksumIEEE(b)), nil
}
