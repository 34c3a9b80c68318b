package h5

import (
	"blobio/internal/base/fault"
	"iter"
)

// Attr is an attribute: a small named array of an object.
type Attr struct {
	Name string
	Type Type    // 0 if the datatype could not be decoded
	Dims []int64 // empty: scalar
	Null bool    // the dataspace has no elements

	f    *File
	off  int64 // absolute offset of raw
	raw  []byte
	fail error // reason why the value cannot be decoded
}

// Attrs iterates over the attributes of the object. The order is the order of creation if the file keeps it. Otherwise it is the
// order in the object header or, for dense attributes, the order of the hashes of the names. For an attribute whose type cannot
// be decoded, only Value returns an error.
func (o *Object) Attrs() iter.Seq2[*Attr, error] {
	return func(yield func(*Attr, error) bool) {
		for _, m := range o.h.all(msgAttribute) {
			a, err := o.f.attr(m)
			if !yield(a, err) || err != nil {
				return
			}
		}
		if d, err := o.denseAttrs(); err != nil {
			yield(nil, err)
		} else if d != nil {
			d.all(yield)
		}
	}
}

// Attr returns the attribute with this name, or ErrMissing.
func (o *Object) Attr(name string) (*Attr, error) {
	for i := range o.h.msgs {
		m := &o.h.msgs[i]
		if m.typ != msgAttribute || !m.attrNamed(name) {
			continue
		}
		a, err := o.f.attr(m)
		if err != nil {
			return nil, err
		}
		if a.Name == name {
			return a, nil
		}
	}
	d, err := o.denseAttrs()
	if err != nil {
		return nil, err
	}
	if d != nil {
		if a, ok, err := d.find(name); ok || err != nil {
			return a, err
		}
	}
	return nil, fault.Class(fault.ErrMissing, "%s: %s has no attribute %q", o.f.name, o.path, name)
}

func (f *File) attr(m *message) (*Attr, error) {
	return f.attrOf(f.over(m.data, m.off), m.flags, m.off)
}

// attrOf decodes an attribute message with these flags, at offset off.
func (f *File) attrOf(c *cursor, flags uint8, off int64) (*Attr, error) {
	if flags&msgShared != 0 {
		return nil, f.errAt(off, "attribute", fault.ErrUnsupported, "attributes in the shared message heap are not supported")
	}
	a := c.decodeAttr()
	return a, c.err
}

// decodeAttr decodes an attribute message, version 1 to 3. It fails only if the structure of the message is wrong. If only the
// value cannot be decoded, the error is recorded in the Attr.
func (c *cursor) decodeAttr() *Attr {
	f := c.f
	at := c.pos()
	version := c.u8("attribute version")
	flags := c.u8("attribute flags")
	nameLen := int64(c.u16("attribute name size"))
	typeLen := int64(c.u16("attribute datatype size"))
	spaceLen := int64(c.u16("attribute dataspace size"))
	pad := func(n int64) int64 { return n }
	switch version {
	case 1:
		pad = func(n int64) int64 { return (n + 7) &^ 7 }
		flags = 0
	case 2:
	case 3:
		c.u8("attribute name character set")
	default:
		c.fail(at, "attribute version", fault.ErrUnsupported, "%d, want 1 to 3", version)
	}
	a := &Attr{f: f, Name: string(untilNul(c.take(pad(nameLen), "attribute name")))}
	tc := f.over(nil, c.pos())
	tc.b = c.take(pad(typeLen), "attribute datatype")
	sc := f.over(nil, c.pos())
	sc.b = c.take(pad(spaceLen), "attribute dataspace")
	if c.err != nil {
		return nil
	}
	a.off, a.raw = c.pos(), c.b[c.p:]
	if flags&1 != 0 {
		m, err := f.shared(tc, msgDatatype)
		if err != nil {
			a.fail = err
			return a
		}
		tc = f.over(m.data, m.off)
	}
	if flags&2 != 0 {
		a.fail = f.errAt(sc.off, "attribute dataspace", fault.ErrUnsupported, "shared dataspaces are not supported")
		return a
	}
	a.Type = tc.decodeType()
	s := sc.decodeSpace()
	a.Dims, a.Null = s.dims, s.null
	size, n := a.Type.Size(), s.count()
	switch {
	case tc.err != nil:
		a.fail = tc.err
	case sc.err != nil:
		a.fail = sc.err
	case size > 0 && n > int64(len(a.raw))/size:
		a.fail = f.errAt(a.off, "attribute value", fault.ErrCorrupt, "%q has %d bytes, want %d elements of %d bytes", a.Name, len(a.raw), n, size)
	default:
		a.raw = a.raw[:n*size]
	}
	return a
}

// Elems returns the number of elements: 1 for a scalar.
func (a *Attr) Elems() int64 {
	if a.Null {
		return 0
	}
	n, _ := elems(a.Dims)
	return n
}

// Raw returns the bytes of the value as in the file, row-major. The result is read-only.
func (a *Attr) Raw() ([]byte, error) { return a.raw, a.fail }

// Value returns the value as a slice, even for a scalar: []int8 to []int64, []uint8 to []uint64, []float32 or []float64 by the
// type in the file, or []string for strings of fixed or variable length. Other types are ErrUnsupported.
func (a *Attr) Value() (any, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	n := a.Elems()
	if a.Type.Class() == ClassVlen && a.Type&typeVlenStr != 0 {
		return a.vlenStrings(n)
	}
	if a.Type.Class() == ClassString {
		return decodeStrings(a.raw, a.Type, n), nil
	}
	if !a.Type.Numeric() {
		return nil, a.f.errAt(a.off, "attribute "+a.Name, fault.ErrUnsupported, "no conversion for a value of type %s", a.Type)
	}
	dst := makeSlice(a.Type, n)
	return dst, decodeSlice(dst, a.raw, a.Type, 0)
}

// Int64s returns an integer value converted to int64. An element that does not fit is ErrRange. A type other than an integer is
// ErrUsage.
func (a *Attr) Int64s() ([]int64, error) {
	if a.fail == nil && a.Type.Class() == ClassFloat {
		return nil, fault.Class(fault.ErrUsage, "%s: attribute %q is of type %s, want an integer", a.f.name, a.Name, a.Type)
	}
	return numbers[int64](a)
}

// Float64s returns a numeric value converted to float64.
func (a *Attr) Float64s() ([]float64, error) { return numbers[float64](a) }

func numbers[T int64 | float64](a *Attr) ([]T, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	if !a.Type.Numeric() {
		return nil, fault.Class(fault.ErrUsage, "%s: attribute %q is of type %s, want a numeric type", a.f.name, a.Name, a.Type)
	}
	dst := make([]T, a.Elems())
	return dst, decodeSlice(dst, a.raw, a.Type, 0)
}

// Text returns a string value of one element.
func (a *Attr) Text() (string, error) {
	v, err := a.Value()
	if err != nil {
		return "", err
	}
	s, ok := v.([]string)
	if !ok || len(s) != 1 {
		return "", fault.Class(fault.ErrUsage, "%s: attribute %q is of type %s with %d elements, want one string", a.f.name, a.Name, a.Type, a.Elems())
	}
	return s[0], nil
}
