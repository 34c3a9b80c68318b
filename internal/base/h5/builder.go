package h5

import (
	"blobio/internal/base/fault"
	"slices"
	"strings"
)

// Builder collects the datasets, attributes and stamps of a file to be
// written, all of them in its root group. Nothing is checked before Layout,
// which returns the first error. A Builder is for one goroutine.
type Builder struct {
	node
	datasets []*DatasetBuilder
	stamps   []*Stamp
	tab      table // of the root group, set by Layout
	err      error
	done     bool

	reserve, reserveAlign int64 // bytes for the data of stamps
}

// NewBuilder returns a builder with an empty root group.
func NewBuilder() *Builder {
	b := &Builder{}
	b.b = b
	return b
}

// fail keeps the first error for Layout.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// node is what groups and datasets have in common: an object header.
type node struct {
	b     *Builder
	name  string
	attrs []attrSpec

	addr   int64 // of the object header
	blocks []int // bytes of the message blocks of the header
}

// attrSpec is an attribute to be written, its message already encoded.
type attrSpec struct {
	name string
	body []byte
}

// Attr adds an attribute. dims nil is a scalar; an empty or longer slice is
// its shape in elements, slowest dimension first, of rank at most 32. value is
// a number, a string, or a slice of them with as many elements as the shape
// (string types take string or []string, all others numbers of any Go type
// that fit: ErrRange otherwise). The value is copied. An attribute takes at
// most 65,528 bytes with its name and shape, and an object has at most 65,000.
func (n *node) Attr(name string, t Type, dims []int64, value any) {
	body, err := encodeAttr(name, t, dims, value)
	if err != nil {
		n.b.fail(fault.Class(err, "attribute %q of %q", name, n.name))
		return
	}
	n.attrs = append(n.attrs, attrSpec{name, body})
}

// DatasetOptions for Builder.Dataset. Nil means the defaults.
type DatasetOptions struct {
	// Align is the number of bytes the file offset of the data is a multiple
	// of. Default: the size of a number, 1 for strings.
	Align int64
}

// Dataset adds a dataset of contiguous data. dims nil is a scalar; otherwise
// its shape in elements, slowest dimension first, of rank at most 32; sizes
// may be 0. The name is not empty, not "." and without "/" and zero bytes.
func (b *Builder) Dataset(name string, t Type, dims []int64, o *DatasetOptions) *DatasetBuilder {
	d := &DatasetBuilder{node: node{b: b, name: name}, typ: t, dims: slices.Clone(dims), off: -1}
	b.checkName(name)
	if t.Numeric() {
		d.align = t.Size()
	}
	if o != nil && o.Align != 0 {
		d.align = o.Align
	}
	d.align = max(d.align, 1)
	if o != nil && (o.Align < 0 || o.Align > 1<<40) {
		b.fail(fault.Class(fault.ErrUsage, "dataset %q: alignment %d, want 1 to 2^40", name, o.Align))
	}
	if err := checkShape(t, dims); err != nil {
		b.fail(fault.Class(err, "dataset %q", name))
	}
	b.datasets = append(b.datasets, d)
	return d
}

// checkName checks the name of a member of a group.
func (b *Builder) checkName(name string) {
	if err := checkMember(name); err != nil {
		b.fail(err)
	}
}

func checkMember(name string) error {
	if name == "" || name == "." || len(name) >= maxName || strings.ContainsAny(name, "/\x00") {
		return fault.Class(fault.ErrUsage, "member %q: want a name of 1 to %d bytes without '/' and zeros", name, maxName-1)
	}
	return nil
}

// checkAttr checks the name of an attribute.
func checkAttr(name string) error {
	if name == "" || len(name) > 1<<15 || strings.ContainsRune(name, 0) {
		return fault.Class(fault.ErrUsage, "name of %d bytes, want 1 to %d without zeros", len(name), 1<<15)
	}
	return nil
}

// DatasetBuilder is a dataset to be written.
type DatasetBuilder struct {
	node
	typ   Type
	dims  []int64
	align int64
	off   int64
	size  int64
}

// Offset returns the absolute file offset of the data; -1 before Layout.
func (d *DatasetBuilder) Offset() int64 { return d.off }

// Bytes returns the size of the data; set by Layout.
func (d *DatasetBuilder) Bytes() int64 { return d.size }

// checkShape returns the class of error of a type and shape, nil if good.
func checkShape(t Type, dims []int64) error {
	if !t.Numeric() && t.Class() != ClassString || t.BigEndian() || t.Class() == ClassEnum || t == Float16 || t.Size() == 0 {
		return fault.Class(fault.ErrUnsupported, "writing type %s", t)
	}
	if len(dims) > maxRank {
		return fault.Class(fault.ErrUsage, "rank %d, want at most %d", len(dims), maxRank)
	}
	n, ok := elems(dims)
	if !ok || n > (1<<62)/t.Size() {
		return fault.Class(fault.ErrUsage, "shape %v of %s, want sizes of at least 0 and less than 2^62 bytes", dims, t)
	}
	return nil
}
