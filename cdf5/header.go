package cdf5

import (
	"math"
	"math/bits"

	"blobio/internal/base/elem"
)

// Streaming in Header.NumRecs means that the number of records follows from the file size (all bits of the field are set).
const Streaming int64 = -1

// Dim is a dimension. Len 0 is the unlimited (record) dimension; a file has at most one.
type Dim struct {
	Name string
	Len  int64
}

// Att is an attribute. Value is a string for Char. For other types it is a slice of the matching Go type: []int8 for Byte,
// []int16, []int32, []float32, []float64, []uint8, []uint16, []uint32, []int64, []uint64.
type Att struct {
	Name  string
	Type  Type
	Value any
}

// Len returns the number of elements (for Char: bytes), or -1 if Value does not match Type.
func (a *Att) Len() int64 {
	if s, ok := a.Value.(string); ok {
		if a.Type == Char {
			return int64(len(s))
		}
		return -1
	}
	e, b, ok := elem.Of(a.Value)
	if !ok || natural[e] != a.Type {
		return -1
	}
	return int64(len(b) / e.Size())
}

// Var is a variable. Dims has the ids of the dimensions, the slowest dimension first. If the first dimension is unlimited, the
// variable is a record variable.
type Var struct {
	Name string
	Type Type
	Dims []int
	Atts []Att
	// VSize is the vsize field: the bytes of the variable, or of one of its records, rounded up to a multiple of 4. It is redundant
	// and unused here. CDF-1 and CDF-2 store 2^32-1 for sizes over 2^32-4; VSize is then the true size.
	VSize int64
	Begin int64 // file offset of the first byte, in bytes
}

// Header is the metadata of a file. Layout sets the VSize and Begin of its variables.
type Header struct {
	Version Version
	NumRecs int64 // number of records, or Streaming
	Dims    []Dim
	Atts    []Att
	Vars    []Var
}

// Unlimited returns the id of the unlimited dimension, or -1.
func (h *Header) Unlimited() int {
	for i := range h.Dims {
		if h.Dims[i].Len == 0 {
			return i
		}
	}
	return -1
}

// VarIndex returns the index of the variable with this name in normal form, or -1.
func (h *Header) VarIndex(name string) int {
	name = NormalName(name)
	for i := range h.Vars {
		if NormalName(h.Vars[i].Name) == name {
			return i
		}
	}
	return -1
}

// DimIndex returns the id of the dimension with this name in normal form, or -1.
func (h *Header) DimIndex(name string) int {
	name = NormalName(name)
	for i := range h.Dims {
		if NormalName(h.Dims[i].Name) == name {
			return i
		}
	}
	return -1
}

// FindAtt returns the attribute with this name in normal form, or nil.
func FindAtt(atts []Att, name string) *Att {
	name = NormalName(name)
	for i := range atts {
		if NormalName(atts[i].Name) == name {
			return &atts[i]
		}
	}
	return nil
}

// FillAtt returns the _FillValue attribute of variable v if it has the type of v and one element, otherwise nil.
func (h *Header) FillAtt(v int) *Att {
	a := FindAtt(h.Vars[v].Atts, "_FillValue")
	if a == nil || a.Type != h.Vars[v].Type || a.Len() != 1 {
		return nil
	}
	return a
}

// IsRecord reports whether the first dimension of variable v is unlimited.
func (h *Header) IsRecord(v int) bool {
	d := h.Vars[v].Dims
	return len(d) > 0 && h.Dims[d[0]].Len == 0
}

// Shape returns the dimension lengths of a fixed variable, or of one record of a record variable, without the unlimited
// dimension.
func (h *Header) Shape(v int) []int64 {
	ids := h.Vars[v].Dims
	if h.IsRecord(v) {
		ids = ids[1:]
	}
	s := make([]int64, len(ids))
	for i, d := range ids {
		s[i] = h.Dims[d].Len
	}
	return s
}

// Elems returns the number of elements of a fixed variable, or of one record of a record variable. A scalar has one element.
func (h *Header) Elems(v int) int64 {
	ids := h.Vars[v].Dims
	if h.IsRecord(v) {
		ids = ids[1:]
	}
	n := int64(1)
	for _, d := range ids {
		n *= h.Dims[d].Len
	}
	return n
}

// Bytes returns the unpadded size in bytes of a fixed variable, or of one
// record of a record variable.
func (h *Header) Bytes(v int) int64 { return h.Elems(v) * int64(h.Vars[v].Type.Size()) }

// RecSize returns the number of bytes from one record to the next, or 0 without a record variable. This is the sum of the padded
// sizes of the record variables. If there is only one record variable, it is the unpadded size of this variable.
func (h *Header) RecSize() int64 {
	n, sum, only := 0, int64(0), int64(0)
	for v := range h.Vars {
		if h.IsRecord(v) {
			n++
			only = h.Bytes(v)
			sum += pad4(only)
		}
	}
	if n == 1 {
		return only
	}
	return sum
}

// Extent returns the file offset and the unpadded length, in bytes, of a fixed variable (rec is ignored) or of one record of a
// record variable. Each call loops over all variables to find the record size, so use Places for many records.
func (h *Header) Extent(v int, rec int64) (off, n int64) {
	off, n = h.Vars[v].Begin, h.Bytes(v)
	if h.IsRecord(v) {
		off += rec * h.RecSize()
	}
	return off, n
}

// Places has the offsets and sizes of a header, computed once. It is immutable.
type Places struct {
	recSize int64
	vars    []place
}

type place struct {
	begin, bytes int64
	stride       int64 // bytes between records; 0 for a fixed variable
}

// Places returns the offsets and sizes of all variables.
func (h *Header) Places() *Places {
	p := &Places{recSize: h.RecSize(), vars: make([]place, len(h.Vars))}
	for v := range h.Vars {
		p.vars[v] = place{begin: h.Vars[v].Begin, bytes: h.Bytes(v)}
		if h.IsRecord(v) {
			p.vars[v].stride = p.recSize
		}
	}
	return p
}

// RecSize returns Header.RecSize.
func (p *Places) RecSize() int64 { return p.recSize }

// Extent returns Header.Extent without a loop over variables.
func (p *Places) Extent(v int, rec int64) (off, n int64) {
	q := &p.vars[v]
	return q.begin + rec*q.stride, q.bytes
}

// FirstRecord returns the file offset of the record section, which is the smallest begin of a record variable. It returns -1 if
// there is no record variable.
func (h *Header) FirstRecord() int64 {
	first := int64(-1)
	for v := range h.Vars {
		if h.IsRecord(v) && (first < 0 || h.Vars[v].Begin < first) {
			first = h.Vars[v].Begin
		}
	}
	return first
}

// Records returns NumRecs, or, if that is Streaming, the number of whole records in a file of size bytes. The pad after the last
// variable of the last record may be missing.
func (h *Header) Records(size int64) int64 {
	if h.NumRecs != Streaming {
		return h.NumRecs
	}
	recSize, first, need := h.RecSize(), h.FirstRecord(), int64(0)
	if recSize == 0 {
		return 0
	}
	for v := range h.Vars {
		if h.IsRecord(v) {
			need = max(need, h.Vars[v].Begin+h.Bytes(v)-first)
		}
	}
	if size-first < need {
		return 0
	}
	return (size-first-need)/recSize + 1
}

// FileSize returns the size in bytes of a complete file with numRecs records, including the last pad.
func (h *Header) FileSize(numRecs int64) int64 {
	end := h.EncodedLen()
	for v := range h.Vars {
		if !h.IsRecord(v) {
			end = max(end, h.Vars[v].Begin+pad4(h.Bytes(v)))
		}
	}
	if first := h.FirstRecord(); first >= 0 && numRecs > 0 {
		end = max(end, first+numRecs*h.RecSize())
	}
	return end
}

// pad4 rounds up to a multiple of 4. n is at most 2^63-4.
func pad4(n int64) int64 { return (n + 3) &^ 3 }

// mulFits multiplies two non-negative numbers. ok is false if the product exceeds 2^63-4, the maximum size that can be padded.
func mulFits(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64-3 {
		return 0, false
	}
	return int64(lo), true
}
