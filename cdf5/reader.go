package cdf5

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

const (
	// pieceLen is the most that is read or written at once, in bytes: small
	// enough for the second-level cache, so that the swap finds it there.
	pieceLen = 1 << 20
	// maxGap is the widest gap, in bytes, that is read and dropped rather than
	// left out by another read: a page.
	maxGap = 4 << 10
	// directLen is the least run, in bytes, that is read into the caller's
	// slice rather than through the buffer.
	directLen = 32 << 10
)

// Reader reads variables of a file. It is stateless but for its header: any
// number of goroutines may use it at once if the io.ReaderAt allows it.
type Reader struct {
	r       io.ReaderAt
	size    int64
	name    string
	h       *Header
	hlen    int64
	places  *Places
	numRecs int64
	pool    sync.Pool // of *[]byte, pieceLen long
}

// NewReader decodes the header of a CDF file of size bytes. name is for
// errors. A file whose data section is shorter than its header promises is
// not an error here; reading what is missing is one (ErrTruncated).
func NewReader(r io.ReaderAt, size int64, name string) (*Reader, error) {
	h, n, err := DecodeHeader(r, size, &DecodeOptions{File: name})
	if err != nil {
		return nil, err
	}
	return &Reader{r: r, size: size, name: name, h: h, hlen: n, places: h.Places(), numRecs: h.Records(size)}, nil
}

// Header returns the header as it is in the file: NumRecs may be Streaming.
// It must not be changed.
func (r *Reader) Header() *Header { return r.h }

// HeaderLen returns the length of the header in bytes.
func (r *Reader) HeaderLen() int64 { return r.hlen }

// Records returns the number of records; when the file says streaming, those
// that its size makes whole.
func (r *Reader) Records() int64 { return r.numRecs }

// Dims returns the lengths of all dimensions of variable v, the number of
// records first for a record variable.
func (r *Reader) Dims(v int) []int64 {
	g := r.h.geometry(v, r.places, r.numRecs)
	return g.lens
}

// Missing returns how many bytes the file is shorter than its header
// promises, 0 for a whole file. A missing pad at the end does not count.
func (r *Reader) Missing() int64 {
	end := r.hlen
	for v := range r.h.Vars {
		last := int64(0)
		if r.h.IsRecord(v) {
			if r.numRecs == 0 {
				continue
			}
			last = r.numRecs - 1
		}
		off, n := r.places.Extent(v, last)
		end = max(end, off+n)
	}
	return max(end-r.size, 0)
}

// Read reads a hyperslab of variable v into dst, a slice of exactly as many
// elements as the product of count, in C order. start, count and stride have
// one number for each dimension, the record dimension included (slowest
// first); nil start is 0s, nil stride 1s, nil count all that remains from
// start. dst may be of any numeric type: values are converted by the rules of
// FromFile, and a *RangeError has the index in dst. Char is read into []byte.
// As in netCDF, Byte of a CDF-1 or CDF-2 file may be read into []uint8 bit by
// bit.
func (r *Reader) Read(v int, start, count, stride []int64, dst any) error {
	if v < 0 || v >= len(r.h.Vars) {
		return usagef("variable %d, want < %d", v, len(r.h.Vars))
	}
	t := memType(r.h.Version, r.h.Vars[v].Type, dst)
	n, mem, err := checkTypes(t, dst)
	if err != nil {
		return err
	}
	raw, ok := Bytes(dst)
	if !ok {
		return usagef("cannot read into %T", dst)
	}
	g := r.h.geometry(v, r.places, r.numRecs)
	s, err := g.slab(start, count, stride)
	if err != nil {
		return err
	}
	if err := s.memLen(g.name, n); err != nil {
		return err
	}
	if s.n == 0 {
		return nil
	}
	if end := s.base + s.span(); end > r.size {
		return r.truncated(v, s.base, end)
	}
	w := &window{r: r, v: v, t: t, s: s, dst: dst}
	if exactType(mem, t, dst) {
		w.raw = raw
	}
	defer w.release()
	if err := s.runs(w.run); err != nil {
		return err
	}
	return w.flush()
}

// ReadAll reads variable v whole, into a new slice of the type that NewSlice
// makes. It allocates only when the file has the bytes.
func (r *Reader) ReadAll(v int) (any, error) {
	if v < 0 || v >= len(r.h.Vars) {
		return nil, usagef("variable %d, want < %d", v, len(r.h.Vars))
	}
	g := r.h.geometry(v, r.places, r.numRecs)
	s, err := g.slab(nil, nil, nil)
	if err != nil {
		return nil, err
	}
	if end := s.base + s.span(); s.n > 0 && end > r.size {
		return nil, r.truncated(v, s.base, end)
	}
	if s.elems > math.MaxInt/g.size {
		return nil, limitf("var %q: %d elements do not fit the memory of this machine", g.name, s.elems)
	}
	dst := NewSlice(r.h.Vars[v].Type, int(s.elems))
	return dst, r.Read(v, nil, nil, nil, dst)
}

// ReadRaw reads file bytes (big endian) of variable v, starting at element off
// of record rec (which is ignored for a fixed variable). len(dst) is a
// multiple of the element size; all of it lies in the variable or record.
func (r *Reader) ReadRaw(v int, rec, off int64, dst []byte) error {
	at, err := rawExtent(r.h, r.places, v, rec, r.numRecs, off, int64(len(dst)))
	if err != nil {
		return err
	}
	return r.readAt(v, dst, at)
}

// rawExtent checks a request for n bytes from element off of record rec and
// returns its file offset.
func rawExtent(h *Header, p *Places, v int, rec, numRecs, off, n int64) (int64, error) {
	if v < 0 || v >= len(h.Vars) {
		return 0, usagef("variable %d, want < %d", v, len(h.Vars))
	}
	name, size := h.Vars[v].Name, int64(h.Vars[v].Type.Size())
	if !h.IsRecord(v) {
		rec = 0
	} else if rec < 0 || rec >= numRecs {
		return 0, usagef("var %q: record %d, want < %d", name, rec, numRecs)
	}
	at, bytes := p.Extent(v, rec)
	if n%size != 0 || off < 0 || off > bytes/size || n > bytes-off*size {
		return 0, usagef("var %q: %d bytes from element %d of %d", name, n, off, bytes/size)
	}
	return at + off*size, nil
}

func (r *Reader) readAt(v int, p []byte, off int64) error {
	if off+int64(len(p)) > r.size {
		return r.truncated(v, off, off+int64(len(p)))
	}
	n, err := r.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return r.fault(v, off+int64(n), ErrTruncated, "%d bytes wanted from %d, read %d", len(p), off, n)
	}
	return r.fault(v, off+int64(n), err, "cannot be read")
}

func (r *Reader) truncated(v int, off, end int64) error {
	return r.fault(v, max(off, r.size), ErrTruncated, "bytes %d to %d are wanted, the file has %d", off, end, r.size)
}

func (r *Reader) fault(v int, at int64, class error, format string, args ...any) error {
	return &FormatError{Pkg: "cdf5", File: r.name, Offset: at, Err: class,
		Field: fmt.Sprintf("var %q data", r.h.Vars[v].Name), Msg: fmt.Sprintf(format, args...)}
}

// memType returns the type that file bytes of type t are converted as. Byte
// of CDF-1 and CDF-2 has no sign of its own: with []uint8 it is UByte.
func memType(v Version, t Type, mem any) Type {
	if _, ok := mem.([]uint8); ok && t == Byte && v != CDF5 {
		return UByte
	}
	return t
}
