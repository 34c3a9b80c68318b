package h5

import (
	"blobio/internal/fault"
	"slices"
	"strings"
)

// Builder collects the groups, datasets and attributes of a file to be
// written. Nothing is checked before Layout, which returns the first error.
// A Builder is for one goroutine.
type Builder struct {
	root *GroupBuilder
	err  error
	done bool

	reserve, reserveAlign int64 // bytes for the data of stamps
}

// NewBuilder returns a builder with an empty root group.
func NewBuilder() *Builder {
	b := &Builder{}
	b.root = &GroupBuilder{node: node{b: b}}
	return b
}

// Root returns the root group.
func (b *Builder) Root() *GroupBuilder { return b.root }

// fail keeps the first error for Layout.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// node is what groups and datasets have in common.
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

// GroupBuilder is a group to be written.
type GroupBuilder struct {
	node
	groups   []*GroupBuilder
	datasets []*DatasetBuilder
	stamps   []*Stamp // of the root group only

	tab table // its symbol table, set by Layout
}

// Group adds a group. The name is not empty, not "." and without "/" and zero
// bytes.
func (g *GroupBuilder) Group(name string) *GroupBuilder {
	n := &GroupBuilder{node: node{b: g.b, name: name}}
	g.checkName(name)
	g.groups = append(g.groups, n)
	return n
}

// DatasetOptions for GroupBuilder.Dataset. Nil means the defaults.
type DatasetOptions struct {
	// Align is the number of bytes the file offset of the data is a multiple
	// of. Default: the size of a number, 1 for strings.
	Align int64
}

// Dataset adds a dataset of contiguous data. dims nil is a scalar; otherwise
// its shape in elements, slowest dimension first, of rank at most 32; sizes
// may be 0.
func (g *GroupBuilder) Dataset(name string, t Type, dims []int64, o *DatasetOptions) *DatasetBuilder {
	d := &DatasetBuilder{node: node{b: g.b, name: name}, typ: t, dims: slices.Clone(dims), off: -1}
	g.checkName(name)
	if t.Numeric() {
		d.align = t.Size()
	}
	if o != nil && o.Align != 0 {
		d.align = o.Align
	}
	d.align = max(d.align, 1)
	if o != nil && (o.Align < 0 || o.Align > 1<<40) {
		g.b.fail(fault.Class(fault.ErrUsage, "dataset %q: alignment %d, want 1 to 2^40", name, o.Align))
	}
	if err := checkShape(t, dims); err != nil {
		g.b.fail(fault.Class(err, "dataset %q", name))
	}
	g.datasets = append(g.datasets, d)
	return d
}

func (g *GroupBuilder) checkName(name string) {
	if name == "" || name == "." || len(name) >= maxName || strings.ContainsAny(name, "/\x00") {
		g.b.fail(fault.Class(fault.ErrUsage, "member %q of %q: want 1 to %d bytes without '/' and zeros", name, g.name, maxName-1))
	}
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
	if !t.Numeric() && t.Class() != ClassString || t.BigEndian() || t.Class() == ClassEnum || t.Size() == 0 {
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
