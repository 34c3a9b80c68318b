package cdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
)

// WriterOptions says how a Writer writes. nil means the defaults.
type WriterOptions struct {
	// Layout places the variables when their begins are not set. nil is the
	// tight layout.
	Layout *LayoutOptions
	// Fill writes the fill value (the _FillValue attribute, or the type's
	// default) to all elements that nobody has written, and to the pads.
	// Default false: they are holes of the file, zeros in a new one.
	Fill bool
	// Name of the file, for errors. Default none.
	Name string
}

// Writer writes a file: variables, records and parts of them in any order,
// then, in Close, the header. Until then the file is no CDF file. Memory is
// bounded: a buffer of 1 MiB for each call that runs, and with Fill a list of
// what is written, at most 4 MiB.
//
// Any number of goroutines may write at once, if the io.WriterAt allows it and
// they write different elements; Close comes after all of them.
type Writer struct {
	w      io.WriterAt
	h      *Header
	o      WriterOptions
	places *Places
	pads   []int64 // bytes that belong to a variable (a record) after its data
	pool   sync.Pool

	mu      sync.Mutex
	numRecs int64
	end     int64 // of the bytes written
	cover   *cover
	closed  bool

	errMu sync.Mutex // separate: fills are written with mu held
	err   error      // of the first failed write
}

// NewWriter prepares to write a file with header h to w, a file that is empty
// or will be overwritten. h is copied. When it has variables and all their
// begins are 0, it is laid out by o.Layout; otherwise its begins are used,
// after a check. h.NumRecs is the least number of records that the file will
// have (Streaming counts as 0).
func NewWriter(w io.WriterAt, h *Header, o *WriterOptions) (*Writer, error) {
	x := &Writer{w: w}
	if o != nil {
		x.o = *o
	}
	c := *h
	c.Vars = slices.Clone(h.Vars)
	c.NumRecs = max(c.NumRecs, 0)
	x.h = &c
	unset := true
	for i := range c.Vars {
		unset = unset && c.Vars[i].Begin == 0
	}
	if unset {
		if err := c.Layout(x.o.Layout); err != nil {
			return nil, err
		}
	} else {
		if err := c.Validate(); err != nil {
			return nil, err
		}
		for i := range c.Vars {
			c.Vars[i].VSize = pad4(c.Bytes(i))
		}
	}
	// The reader's checks of begins are what a given layout must pass.
	enc, err := c.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		return nil, err
	}
	if _, _, err := DecodeHeader(bytes.NewReader(enc), int64(len(enc)), &DecodeOptions{File: x.o.Name}); err != nil {
		return nil, fmt.Errorf("cdf5: %w: header: %w", ErrUsage, err)
	}
	x.numRecs = c.NumRecs
	x.places = c.Places()
	x.pads = c.pads()
	if x.o.Fill {
		x.cover = newCover(len(c.Vars))
	}
	return x, nil
}

// pads returns for each variable the bytes from the end of its data (of a
// record of it) to the next multiple of 4, where they are its own.
func (h *Header) pads() []int64 {
	pads := make([]int64, len(h.Vars))
	recSize, first := h.RecSize(), h.FirstRecord()
	begins := make([]int64, 0, len(h.Vars)+1)
	for v := range h.Vars {
		begins = append(begins, h.Vars[v].Begin)
	}
	if first >= 0 {
		begins = append(begins, first+recSize)
	}
	slices.Sort(begins)
	for v := range h.Vars {
		n := h.Bytes(v)
		end := h.Vars[v].Begin + n
		pads[v] = pad4(n) - n
		if i, _ := slices.BinarySearch(begins, end); i < len(begins) {
			pads[v] = min(pads[v], begins[i]-end)
		}
	}
	return pads
}

// Header returns the header with its layout. NumRecs is set by Close. It must
// not be changed.
func (w *Writer) Header() *Header { return w.h }

// Write writes src, in C order, to a hyperslab of variable v. start and count
// have one number for each dimension, the record dimension included; nil
// start is 0s, and nil count all that remains from start, for a record
// variable as many records as src makes. src has as many elements as the
// product of count; its values are converted by the rules of ToFile. They are
// checked first: a *RangeError means that nothing was written. A record
// beyond the last makes the file longer.
func (w *Writer) Write(v int, start, count []int64, src any) error {
	if v < 0 || v >= len(w.h.Vars) {
		return usagef("variable %d, want < %d", v, len(w.h.Vars))
	}
	t := memType(w.h.Version, w.h.Vars[v].Type, src)
	n, mem, err := checkTypes(t, src)
	if err != nil {
		return err
	}
	records, err := w.records(v, start, count, int64(n))
	if err != nil {
		return err
	}
	g := w.h.geometry(v, w.places, records)
	s, err := g.slab(start, count, nil)
	if err != nil {
		return err
	}
	if err := s.memLen(g.name, n); err != nil {
		return err
	}
	if s.n == 0 {
		return nil
	}
	if err := CheckRange(t, src); err != nil {
		return err
	}
	if err := w.begin(v, records, s); err != nil {
		return err
	}
	b := &batch{w: w, v: v, t: t, s: s, src: src}
	if exactType(mem, t, src) {
		b.raw, _ = Bytes(src)
	}
	defer b.release()
	if err := s.runs(b.run); err != nil {
		return err
	}
	return b.flush()
}

// records returns the number of records that a write needs to be there, 0 for
// a fixed variable.
func (w *Writer) records(v int, start, count []int64, n int64) (int64, error) {
	if !w.h.IsRecord(v) {
		return 0, nil
	}
	name := w.h.Vars[v].Name
	rank := len(w.h.Vars[v].Dims)
	first, k := int64(0), int64(0)
	if start != nil {
		if len(start) != rank {
			return 0, usagef("var %q: start has %d numbers, the variable %d dimensions", name, len(start), rank)
		}
		first = start[0]
	}
	switch {
	case count == nil:
		each := int64(1)
		for i, length := range w.h.Shape(v) {
			if start != nil {
				length -= start[i+1]
			}
			each *= max(length, 0)
		}
		if each > 0 {
			k = n / each
		}
	case len(count) != rank:
		return 0, usagef("var %q: count has %d numbers, the variable %d dimensions", name, len(count), rank)
	default:
		k = count[0]
	}
	if first < 0 || k < 0 {
		return 0, usagef("var %q: %d records from %d", name, k, first)
	}
	end := first + k
	limit := int64(math.MaxInt64)
	if w.h.Version != CDF5 {
		limit = math.MaxUint32 - 1
	}
	if size, ok := mulFits(end, w.places.recSize); end < 0 || end > limit || !ok || size > math.MaxInt64-8-w.h.FirstRecord() {
		return 0, limitf("var %q: record %d in %v", name, end, w.h.Version)
	}
	return end, nil
}

// begin notes a write before it happens.
func (w *Writer) begin(v int, records int64, s *slab) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	w.numRecs = max(w.numRecs, records)
	end := s.base + s.span()
	w.end = max(w.end, end+w.padAfter(v, end))
	if w.cover == nil {
		return nil
	}
	return s.runs(func(off int64) error { return w.note(v, off, s) })
}

func (w *Writer) usable() error {
	if w.closed {
		return usagef("write to a closed Writer")
	}
	w.errMu.Lock()
	defer w.errMu.Unlock()
	if w.err != nil {
		return fmt.Errorf("cdf5: %w: %w", ErrBroken, w.err)
	}
	return nil
}

// WriteRaw writes file bytes (big endian) of variable v, from element off of
// record rec on (rec is ignored for a fixed variable). len(p) is a multiple of
// the element size; all of it lies in the variable or record.
func (w *Writer) WriteRaw(v int, rec, off int64, p []byte) error {
	records := int64(0)
	if v >= 0 && v < len(w.h.Vars) && w.h.IsRecord(v) {
		start, count := make([]int64, len(w.h.Vars[v].Dims)), make([]int64, len(w.h.Vars[v].Dims))
		start[0], count[0] = rec, 1
		var err error
		if records, err = w.records(v, start, count, 0); err != nil {
			return err
		}
	}
	at, err := rawExtent(w.h, w.places, v, rec, max(records, 1), off, int64(len(p)))
	if err != nil || len(p) == 0 {
		return err
	}
	size := int64(w.h.Vars[v].Type.Size())
	s := &slab{base: at, n: int64(len(p)) / size, step: size, size: size}
	if err := w.begin(v, records, s); err != nil {
		return err
	}
	if err := w.writeAt(p, at); err != nil {
		return err
	}
	if pad := w.padAfter(v, at+int64(len(p))); pad > 0 {
		return w.writeAt(w.padBytes(v, pad, nil), at+int64(len(p)))
	}
	return nil
}

// padAfter returns the length of the pad that follows when data of variable v
// ends at file offset end: 0 unless that is the end of the variable or record.
func (w *Writer) padAfter(v int, end int64) int64 {
	p := &w.places.vars[v]
	if w.pads[v] == 0 {
		return 0
	}
	at := end - p.begin
	if p.stride > 0 {
		at %= p.stride
	}
	if at != p.bytes {
		return 0
	}
	return w.pads[v]
}

// padBytes appends a pad to b: fill values with Fill, otherwise zeros.
func (w *Writer) padBytes(v int, n int64, b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0)[:at+int(n)]
	if w.o.Fill {
		FillBytes(b[at:], w.h.Vars[v].Type, nil, w.h.FillAtt(v))
	}
	return b
}

func (w *Writer) writeAt(p []byte, off int64) error {
	n, err := w.w.WriteAt(p, off)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	w.errMu.Lock()
	defer w.errMu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return fmt.Errorf("cdf5: %s: write of %d bytes at %d: %w", w.o.Name, len(p), off, err)
}

// Close writes the fill values that are due and then the header. It does not
// close the io.WriterAt. After a failed write it writes no header and returns
// ErrBroken: what is there is no CDF file.
func (w *Writer) Close() error {
	w.mu.Lock()
	err := w.usable()
	w.closed = true
	w.mu.Unlock()
	if err != nil {
		return err
	}
	w.h.NumRecs = w.numRecs
	if w.cover != nil {
		if err := w.fillRest(); err != nil {
			return err
		}
	}
	enc, err := w.h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		return err
	}
	// A file that ends in a hole or a pad must still have its full length.
	if size := w.h.FileSize(w.numRecs); w.end < size && size > int64(len(enc)) {
		if err := w.writeAt([]byte{0}, size-1); err != nil {
			return err
		}
	}
	return w.writeAt(enc, 0)
}
