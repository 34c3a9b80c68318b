package h5

import (
	"blobio/internal/base/fault"
	"bytes"
	"slices"
)

// A Template is the metadata of a group, laid out once and stamped into the file many times. Templates are for files with very
// many groups that differ only in values, offsets and sizes. A stamp costs a copy of Len bytes instead of an encoding of every
// message. A Template is read-only.
type Template struct {
	buf      []byte // the encoded group, at address 0
	relocs   []int  // offsets of addresses in buf
	attrs    []span // attribute values, in creation order
	datasets []datasetSpot
	fixed    []span // see gaps
	tree     int64
	heap     int64
}

type span struct{ off, len int }

// datasetSpot has the offsets of the dataset's fields that a stamp may set.
type datasetSpot struct {
	dims   int // offset of the sizes; the maximum sizes follow
	rank   int
	layout int // offset of the data address; the bytes follow
	elem   int64
}

const (
	templateBase = 1 << 20 // the second address at which a template is encoded
	maxTemplate  = templateBase
)

// NewTemplate lays out the group that build makes from attributes and datasets. Its values and sizes are placeholders.
func NewTemplate(build func(b *Builder)) (*Template, error) {
	g := NewBuilder()
	g.name = "template"
	build(g)
	if g.err != nil {
		return nil, g.err
	}
	if len(g.stamps) > 0 {
		return nil, fault.Class(fault.ErrUsage, "the template contains groups")
	}
	encode := func(base int64) ([]byte, error) {
		end, err := g.place(base)
		if err != nil {
			return nil, err
		}
		if end-base > maxTemplate {
			return nil, fault.Class(fault.ErrTooLarge, "template of %d bytes, want at most %d", end-base, maxTemplate)
		}
		buf := make([]byte, end)
		g.encode(buf)
		return buf[base:], nil
	}
	for _, d := range g.datasets { // every dataset gets data, so that its address is encoded
		d.off, d.size = undef, 1
	}
	// The template is encoded at two addresses 2^20 apart. The bytes differ only in the third byte of each address, because the
	// template is shorter than 2^20.
	moved, err := encode(templateBase)
	if err != nil {
		return nil, err
	}
	t := &Template{}
	if t.buf, err = encode(0); err != nil {
		return nil, err
	}
	for i := range t.buf {
		if t.buf[i] != moved[i] {
			t.relocs = append(t.relocs, i-2)
		}
	}
	for _, a := range g.attrs {
		at := bytes.Index(t.buf, a.body) // begins with the name, which is unique
		n := attrValueLen(a.body)
		t.attrs = append(t.attrs, span{at + len(a.body) - int(ceilDiv(n, 8)*8), int(n)})
	}
	for _, d := range g.datasets {
		at := int(d.addr) + headerPrefixLen + messagePrefix
		space, typ := len(encodeSpace(d.dims)), len(encodeType(d.typ))
		t.datasets = append(t.datasets, datasetSpot{
			dims: at + 8, rank: len(d.dims), elem: d.typ.Size(),
			layout: at + space + messagePrefix + typ + messagePrefix + 8 + messagePrefix + 2,
		})
	}
	t.tree, t.heap = g.tab.tree, g.tab.heap
	t.fixed = t.gaps()
	return t, nil
}

// attrValueLen returns the length of the value in an encoded attribute message.
func attrValueLen(body []byte) int64 {
	up := func(n uint16) int { return (int(n) + 7) &^ 7 }
	typ := 8 + up(le.Uint16(body[2:]))
	space := typ + up(le.Uint16(body[4:]))
	n := int64(le.Uint32(body[typ+4:])) // size of an element
	for i := range int(body[space+1]) {
		n *= int64(le.Uint64(body[space+8+8*i:]))
	}
	return n
}

// Len returns the length of a stamp in bytes.
func (t *Template) Len() int64 { return int64(len(t.buf)) }

// Stamp is a group made from a template. After Layout the caller fills a buffer of Template.Len bytes with Encode, sets values,
// and writes the buffer at Offset. Layout.Pieces does not contain stamps.
type Stamp struct {
	node
	t   *Template
	tab table // table with its addresses
}

// Stamp adds a group made from a template. Stamps follow all other metadata, in the order of these calls.
func (b *Builder) Stamp(name string, t *Template) *Stamp {
	b.checkName(name)
	s := &Stamp{node: node{b: b, name: name}, t: t}
	b.stamps = append(b.stamps, s)
	return s
}

// Reserve reserves bytes for the data of stamps at Layout.Reserved, a multiple of align. Reserve may be called at most once.
func (b *Builder) Reserve(bytes, align int64) {
	if b.reserve != 0 || bytes < 0 || bytes > 1<<61 || align < 1 || align > 1<<40 {
		b.fail(fault.Class(fault.ErrUsage, "reserve %d bytes aligned to %d, want one call of Reserve with at most 2^61 bytes and an alignment of 1 to 2^40", bytes, align))
		return
	}
	b.reserve, b.reserveAlign = bytes, align
}

// Offset returns the absolute file offset of the stamp, set by Layout.
func (s *Stamp) Offset() int64 { return s.addr }

// Encode fills dst, of Template.Len bytes, with the group at its address. Attributes and dataset sizes have the template's
// placeholder values. Datasets have no data until SetDataset.
func (s *Stamp) Encode(dst []byte) {
	copy(dst, s.t.buf)
	for _, p := range s.t.relocs {
		le.PutUint64(dst[p:], le.Uint64(dst[p:])+uint64(s.addr))
	}
}

// Attr returns the value bytes of attribute i in an encoded stamp, in creation order from 0. The caller sets them, little-endian.
func (t *Template) Attr(dst []byte, i int) []byte {
	a := t.attrs[i]
	return dst[a.off : a.off+a.len : a.off+a.len]
}

// SetDataset sets the sizes in elements (nil: unchanged) and the absolute data offset of dataset i in an encoded stamp.
func (t *Template) SetDataset(dst []byte, i int, dims []int64, off int64) {
	d := t.datasets[i]
	n := d.elem
	for k := range d.rank {
		if dims != nil {
			le.PutUint64(dst[d.dims+8*k:], uint64(dims[k]))
			le.PutUint64(dst[d.dims+8*(k+d.rank):], uint64(dims[k]))
		}
		n *= int64(le.Uint64(dst[d.dims+8*k:]))
	}
	if n == 0 {
		off = undef
	}
	le.PutUint64(dst[d.layout:], uint64(off))
	le.PutUint64(dst[d.layout+8:], uint64(n))
}

func (b *Builder) placeStamps(at int64) int64 {
	for _, s := range b.stamps {
		s.addr = at
		s.tab.tree, s.tab.heap = at+s.t.tree, at+s.t.heap
		at += s.t.Len()
	}
	return at
}

// Stamps returns the stamps in creation order.
func (b *Builder) Stamps() []*Stamp { return slices.Clone(b.stamps) }

// gaps returns the parts of a template that a stamp may change, ascending.
func (t *Template) gaps() []span {
	var l []span
	for _, p := range t.relocs {
		l = append(l, span{p, 8})
	}
	l = append(l, t.attrs...)
	for _, d := range t.datasets {
		l = append(l, span{d.dims, 16 * d.rank}, span{d.layout, 16})
	}
	slices.SortFunc(l, func(a, b span) int { return a.off - b.off })
	return l
}

// Match reports whether b, the bytes of a file from absolute offset addr, begins with a stamp of the template. Its values can
// then be read without decoding every message. Match is strict: if it returns false, the caller reads the group in the ordinary
// way.
func (t *Template) Match(b []byte, addr int64) bool {
	if len(b) < len(t.buf) {
		return false
	}
	at := 0
	for _, g := range t.fixed {
		if !bytes.Equal(b[at:g.off], t.buf[at:g.off]) {
			return false
		}
		at = g.off + g.len
	}
	if !bytes.Equal(b[at:len(t.buf)], t.buf[at:]) {
		return false
	}
	for _, p := range t.relocs {
		if le.Uint64(b[p:]) != le.Uint64(t.buf[p:])+uint64(addr) {
			return false
		}
	}
	for _, d := range t.datasets {
		n := uint64(d.elem)
		for k := range d.rank {
			v := le.Uint64(b[d.dims+8*k:])
			if v != le.Uint64(b[d.dims+8*(k+d.rank):]) || v > 1<<40 || n > 1<<62/max(v, 1) {
				return false
			}
			n *= v
		}
		if off := int64(le.Uint64(b[d.layout:])); le.Uint64(b[d.layout+8:]) != n || (off == undef) != (n == 0) || off < undef {
			return false
		}
	}
	return true
}

// Dataset returns the sizes of dataset i of a matching stamp, in elements, and the file offset of its data; -1 if it has none.
func (t *Template) Dataset(b []byte, i int) (dims [maxRank]int64, off int64) {
	d := t.datasets[i]
	for k := range d.rank {
		dims[k] = int64(le.Uint64(b[d.dims+8*k:]))
	}
	return dims, int64(le.Uint64(b[d.layout:]))
}
