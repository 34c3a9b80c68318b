package layout

import "blobio/cdf5"

// Locator finds the offsets of the fields of a CDF-5 header, for errors that are found after decoding. It adds up the lengths of
// names and lists.
type Locator struct {
	h    *cdf5.Header
	base int64 // file offset of the header
}

// Lengths of parts of a CDF-5 header, in bytes.
const (
	hdrTag   = 4 // tag of a list; type of an attribute or a variable
	HdrCount = 8 // count, length, dimension id, vsize, begin
	hdrList  = hdrTag + HdrCount
	hdrStart = NumrecsAt + NumrecsLen
)

func pad4(n int64) int64 { return (n + 3) &^ 3 }

func hdrName(s string) int64 { return HdrCount + pad4(int64(len(s))) }

func attsLen(atts []cdf5.Att) int64 {
	n := int64(hdrList)
	for i := range atts {
		n += attLen(&atts[i])
	}
	return n
}

func attLen(a *cdf5.Att) int64 {
	return hdrName(a.Name) + hdrTag + HdrCount + pad4(int64(a.Len())*int64(a.Type.Size()))
}

// Locate returns a Locator for the header.
func (h *Header) Locate() Locator { return NewLocator(h.Header, h.Off) }

// blobsAt returns the offset of the length of the dimension nblobs.
func (h *Header) blobsAt() int64 { return h.Locate().DimLen(h.blobsDim()) }

// NelemsAt returns the offset of the length of the dimension Dk.nelems, where d = k-1.
func (h *Header) NelemsAt(d int) int64 { return h.Locate().DimLen(h.blobsDim() + 1 + d) }

// blobsDim returns the id of the dimension nblobs. Two dimensions for each map follow.
func (h *Header) blobsDim() int { return len(h.Dims) - 1 - 2*h.Maps }

// Dims returns the offset of the list of dimensions.
func (l Locator) Dims() int64 { return l.base + hdrStart }

// Dim returns the offset of the header entry of dimension i. The entry begins with the dimension's name. If i is the number of
// dimensions, Dim returns the end of the list.
func (l Locator) Dim(i int) int64 {
	at := l.Dims() + hdrList
	for k := range i {
		at += hdrName(l.h.Dims[k].Name) + HdrCount
	}
	return at
}

// DimLen returns the offset of the length of dimension i.
func (l Locator) DimLen(i int) int64 { return l.Dim(i) + hdrName(l.h.Dims[i].Name) }

// Atts returns the offset of the list of global attributes.
func (l Locator) Atts() int64 { return l.Dim(len(l.h.Dims)) }

// attValue returns the offset of an attribute's values. The list of attributes begins at offset at. If the attribute is missing,
// attValue returns at.
func attValue(at int64, atts []cdf5.Att, name string) int64 {
	off := at + hdrList
	for i := range atts {
		if atts[i].Name == name {
			return off + hdrName(name) + hdrTag + HdrCount
		}
		off += attLen(&atts[i])
	}
	return at
}

// GlobalAtt returns the offset of the values of a global attribute.
func (l Locator) GlobalAtt(name string) int64 { return attValue(l.Atts(), l.h.Atts, name) }

// vars returns the offset of the list of variables.
func (l Locator) vars() int64 { return l.Atts() + attsLen(l.h.Atts) }

// Variable returns the offset of the header entry of variable v. The entry begins with the variable's name.
func (l Locator) Variable(v int) int64 {
	at := l.vars() + hdrList
	for k := range v {
		w := &l.h.Vars[k]
		at += hdrName(w.Name) + HdrCount*int64(1+len(w.Dims)) + attsLen(w.Atts) + hdrTag + 2*HdrCount
	}
	return at
}

// DimIDs returns the offset of the number of dimensions of variable v; the ids follow.
func (l Locator) DimIDs(v int) int64 { return l.Variable(v) + hdrName(l.h.Vars[v].Name) }

func (l Locator) varAtts(v int) int64 {
	return l.DimIDs(v) + HdrCount*int64(1+len(l.h.Vars[v].Dims))
}

// VarAtt returns the offset of the values of an attribute of variable v.
func (l Locator) VarAtt(v int, name string) int64 {
	return attValue(l.varAtts(v), l.h.Vars[v].Atts, name)
}

// VarType returns the offset of the type of variable v.
func (l Locator) VarType(v int) int64 { return l.varAtts(v) + attsLen(l.h.Vars[v].Atts) }

// NewLocator returns a Locator for a header at offset base of its file.
func NewLocator(h *cdf5.Header, base int64) Locator { return Locator{h, base} }
