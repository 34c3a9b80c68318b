package blob

import "blobio/cdf5"

// locator tells where the fields of a CDF-5 header lie in its file, for errors
// that are found after decoding: the places follow from the lengths of names and lists.
type locator struct {
	h    *cdf5.Header
	base int64 // file offset of the header
}

// Lengths of parts of a CDF-5 header, in bytes.
const (
	hdrTag   = 4 // tag of a list, type of an attribute or a variable
	hdrCount = 8 // count, length, dimension id, vsize, begin
	hdrList  = hdrTag + hdrCount
	hdrStart = numrecsAt + numrecsLen
)

func pad4(n int64) int64 { return (n + 3) &^ 3 }

func hdrName(s string) int64 { return hdrCount + pad4(int64(len(s))) }

func attsLen(atts []cdf5.Att) int64 {
	n := int64(hdrList)
	for i := range atts {
		n += attLen(&atts[i])
	}
	return n
}

func attLen(a *cdf5.Att) int64 {
	return hdrName(a.Name) + hdrTag + hdrCount + pad4(int64(a.Len())*int64(a.Type.Size()))
}

func (p *where) locate() locator { return locator{p.hdr, p.hdrOff} }

// blobsAt is where the length of the dimension nblobs is.
func (p *where) blobsAt() int64 { return p.locate().dimLen(p.blobsDim()) }

// nelemsAt is where the length of the dimension Dk.nelems is, d from 0.
func (p *where) nelemsAt(d int) int64 { return p.locate().dimLen(p.blobsDim() + 1 + d) }

// blobsDim is the dimension nblobs; behind it are two of each map.
func (p *where) blobsDim() int { return len(p.hdr.Dims) - 1 - 2*p.maps }

// dims is where the list of dimensions begins.
func (l locator) dims() int64 { return l.base + hdrStart }

// dim is where dimension i, its name first, begins; i may be one past the last.
func (l locator) dim(i int) int64 {
	at := l.dims() + hdrList
	for k := range i {
		at += hdrName(l.h.Dims[k].Name) + hdrCount
	}
	return at
}

// dimLen is where the length of dimension i is.
func (l locator) dimLen(i int) int64 { return l.dim(i) + hdrName(l.h.Dims[i].Name) }

// atts is where the list of global attributes begins.
func (l locator) atts() int64 { return l.dim(len(l.h.Dims)) }

// attValue is where the values of an attribute are, in the list that begins at at;
// the list's begin if it has no such attribute.
func attValue(at int64, atts []cdf5.Att, name string) int64 {
	off := at + hdrList
	for i := range atts {
		if atts[i].Name == name {
			return off + hdrName(name) + hdrTag + hdrCount
		}
		off += attLen(&atts[i])
	}
	return at
}

// globalAtt is where the values of a global attribute are.
func (l locator) globalAtt(name string) int64 { return attValue(l.atts(), l.h.Atts, name) }

// vars is where the list of variables begins.
func (l locator) vars() int64 { return l.atts() + attsLen(l.h.Atts) }

// variable is where variable v, its name first, begins.
func (l locator) variable(v int) int64 {
	at := l.vars() + hdrList
	for k := range v {
		w := &l.h.Vars[k]
		at += hdrName(w.Name) + hdrCount*int64(1+len(w.Dims)) + attsLen(w.Atts) + hdrTag + 2*hdrCount
	}
	return at
}

// dimIDs is where the number of dimensions of variable v is; the ids follow.
func (l locator) dimIDs(v int) int64 { return l.variable(v) + hdrName(l.h.Vars[v].Name) }

func (l locator) varAtts(v int) int64 {
	return l.dimIDs(v) + hdrCount*int64(1+len(l.h.Vars[v].Dims))
}

// varAtt is where the values of an attribute of variable v are.
func (l locator) varAtt(v int, name string) int64 {
	return attValue(l.varAtts(v), l.h.Vars[v].Atts, name)
}

// varType is where the type of variable v is.
func (l locator) varType(v int) int64 { return l.varAtts(v) + attsLen(l.h.Vars[v].Atts) }
