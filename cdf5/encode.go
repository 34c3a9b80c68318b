package cdf5

import (
	"blobio/internal/base/fault"
	"encoding/binary"
	"math"
)

// Tags of the three lists and of an empty list.
const (
	tagAbsent    = 0x00
	tagDimension = 0x0A
	tagVariable  = 0x0B
	tagAttribute = 0x0C
)

const (
	magicLen = 4 // "CDF", version
	tagLen   = 4
	typeLen  = 4
)

// clippedVSize is the vsize that CDF-1 and CDF-2 store for a size over maxVSize32.
const (
	clippedVSize = 1<<32 - 1
	maxVSize32   = 1<<32 - 4
)

// EncodedLen returns the exact length in bytes of the encoded header. It is
// the same for both byte orders.
func (h *Header) EncodedLen() int64 {
	c := h.Version.countSize()
	n := magicLen + c // numrecs
	n += tagLen + c   // dim_list
	for i := range h.Dims {
		n += nameLen(h.Dims[i].Name, c) + c
	}
	n += attsLen(h.Atts, c)
	n += tagLen + c // var_list
	for i := range h.Vars {
		v := &h.Vars[i]
		n += nameLen(v.Name, c)
		n += c + int64(len(v.Dims))*c
		n += attsLen(v.Atts, c)
		n += typeLen + c + h.Version.beginSize()
	}
	return n
}

func nameLen(s string, c int64) int64 { return c + pad4(int64(len(s))) }

func attsLen(atts []Att, c int64) int64 {
	n := tagLen + c
	for i := range atts {
		n += nameLen(atts[i].Name, c) + typeLen + c
		if k := atts[i].Len(); k > 0 {
			n += pad4(k * int64(atts[i].Type.Size()))
		}
	}
	return n
}

// AppendTo appends the encoded header to dst. order is binary.BigEndian for a CDF file. With binary.LittleEndian every number,
// including tags and counts, is little-endian, as in header_blob of the process-centric layout. zeroBegin stores 0 for every
// begin. The error is ErrUsage or ErrTooLarge if the version cannot express the header.
func (h *Header) AppendTo(dst []byte, order binary.ByteOrder, zeroBegin bool) ([]byte, error) {
	if !h.Version.Valid() {
		return dst, fault.Usage("version %d, want 1, 2 or 5", h.Version)
	}
	if h.NumRecs < Streaming || (h.Version != CDF5 && h.NumRecs >= 1<<32-1) {
		return dst, fault.Class(ErrTooLarge, "numrecs %d does not fit %v", h.NumRecs, h.Version)
	}
	e := &encoder{b: dst, big: isBig(order), v: h.Version}
	e.b = append(e.b, 'C', 'D', 'F', byte(h.Version))
	e.count(h.NumRecs)

	e.list(tagDimension, len(h.Dims))
	for i := range h.Dims {
		e.name(h.Dims[i].Name)
		if n := h.Dims[i].Len; n < 0 || n > h.Version.maxCount() {
			return dst, fault.Class(ErrTooLarge, "dim %q: length %d does not fit %v", h.Dims[i].Name, n, h.Version)
		}
		e.count(h.Dims[i].Len)
	}
	if err := e.atts(h.Atts); err != nil {
		return dst, err
	}
	e.list(tagVariable, len(h.Vars))
	for i := range h.Vars {
		if err := e.variable(h, i, zeroBegin); err != nil {
			return dst, err
		}
	}
	return e.b, nil
}

func isBig(order binary.ByteOrder) bool {
	return order == nil || order.Uint16([]byte{0, 1}) == 1
}

type encoder struct {
	b   []byte
	big bool
	v   Version
}

func (e *encoder) u32(x uint32) {
	if e.big {
		e.b = binary.BigEndian.AppendUint32(e.b, x)
	} else {
		e.b = binary.LittleEndian.AppendUint32(e.b, x)
	}
}

func (e *encoder) u64(x uint64) {
	if e.big {
		e.b = binary.BigEndian.AppendUint64(e.b, x)
	} else {
		e.b = binary.LittleEndian.AppendUint64(e.b, x)
	}
}

func (e *encoder) count(n int64) {
	if e.v == CDF5 {
		e.u64(uint64(n))
	} else {
		e.u32(uint32(n))
	}
}

func (e *encoder) text(s string) {
	e.b = append(e.b, s...)
	for n := len(s); n&3 != 0; n++ {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) name(s string) {
	e.count(int64(len(s)))
	e.text(s)
}

// list writes the tag and length of a list. The tag of an empty list is ABSENT.
func (e *encoder) list(tag uint32, n int) {
	if n == 0 {
		tag = tagAbsent
	}
	e.u32(tag)
	e.count(int64(n))
}

func (e *encoder) atts(atts []Att) error {
	e.list(tagAttribute, len(atts))
	for i := range atts {
		a := &atts[i]
		n := a.Len()
		if n < 0 {
			return fault.Usage("attribute %q: value of Go type %T does not match %v", a.Name, a.Value, a.Type)
		}
		if !a.Type.ValidIn(e.v) {
			return fault.Usage("attribute %q has type %v, which %v does not support", a.Name, a.Type, e.v)
		}
		if n > e.v.maxCount() {
			return fault.Class(ErrTooLarge, "attribute %q: %d elements do not fit %v", a.Name, n, e.v)
		}
		e.name(a.Name)
		e.u32(uint32(a.Type))
		e.count(n)
		if s, ok := a.Value.(string); ok {
			e.text(s)
			continue
		}
		at := len(e.b)
		size := int(n) * a.Type.Size()
		e.b = append(e.b, make([]byte, pad4(int64(size)))...)
		if err := ToFile(e.b[at:at+size], e.big, a.Type, a.Value); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) variable(h *Header, i int, zeroBegin bool) error {
	v := &h.Vars[i]
	if !v.Type.ValidIn(e.v) {
		return fault.Usage("var %q has type %v, which %v does not support", v.Name, v.Type, e.v)
	}
	e.name(v.Name)
	e.count(int64(len(v.Dims)))
	for k, d := range v.Dims {
		if d < 0 || d >= len(h.Dims) {
			return fault.Usage("var %q: dimid[%d]: %d, want < %d", v.Name, k, d, len(h.Dims))
		}
		e.count(int64(d))
	}
	if err := e.atts(v.Atts); err != nil {
		return err
	}
	e.u32(uint32(v.Type))
	vsize := v.VSize
	if vsize < 0 {
		return fault.Usage("var %q: vsize %d, want >= 0", v.Name, vsize)
	}
	if e.v != CDF5 && vsize > maxVSize32 {
		vsize = clippedVSize
	}
	e.count(vsize)
	begin := v.Begin
	if zeroBegin {
		begin = 0
	}
	if begin < 0 || (e.v == CDF1 && begin > math.MaxInt32) {
		return fault.Class(ErrTooLarge, "var %q: begin %d does not fit %v", v.Name, begin, e.v)
	}
	if e.v == CDF1 {
		e.u32(uint32(begin))
	} else {
		e.u64(uint64(begin))
	}
	return nil
}
