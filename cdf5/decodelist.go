package cdf5

import (
	"fmt"
	"math"
)

// list reads the tag and length of a list. minEntry is the minimum length of an entry in bytes.
func (d *decoder) list(tag uint32, minEntry int64, f field) (int64, error) {
	at := d.pos
	got, err := d.u32(f.of(" tag"))
	if err != nil {
		return 0, err
	}
	if got != tag && got != tagAbsent {
		return 0, d.fault(at, f.of(" tag"), ErrCorrupt, "%#x, want %#x or 0", got, tag)
	}
	at = d.pos
	n, err := d.count(d.h.Version, f.of(" nelems"))
	if err != nil {
		return 0, err
	}
	switch {
	case got == tagAbsent && n != 0:
		return 0, d.fault(at, f.of(" nelems"), ErrCorrupt, "%d, want 0 after an ABSENT tag", n)
	case got == tag && n == 0:
		d.o.note(at-tagLen, f.of(" tag").String(), "found the tag of a list, want ABSENT before an empty list")
	}
	return n, d.fits(at, n, minEntry, f.of(" nelems"))
}

// fits returns an error if the file has no space for n more entries of at least each bytes.
func (d *decoder) fits(at, n, each int64, f field) error {
	if n > (d.size-d.pos)/each {
		return d.fault(at, f, ErrTruncated, "%d elements, but only %d bytes are left in the file", n, d.size-d.pos)
	}
	if n > (d.limit-d.pos)/each {
		return d.fault(at, f, ErrTooLarge, "%d elements do not fit in a header, want a header of at most %d bytes", n, d.limit)
	}
	return nil
}

// startCap is the initial capacity of a slice of n entries. The slice grows only as entries are read.
func startCap(n int64) int { return int(min(n, 1024)) }

// name reads the name of f and its pad.
func (d *decoder) name(f field) (string, error) {
	f.what = " name length"
	at := d.pos
	n, err := d.count(d.h.Version, f)
	if err != nil {
		return "", err
	}
	if err := d.fits(at, n, 1, f); err != nil {
		return "", err
	}
	f.what = " name"
	at = d.pos
	b, err := d.run(n, f)
	if err != nil {
		return "", err
	}
	s := string(b)
	if why := badName(s); why != "" {
		return "", d.fault(at, f, ErrCorrupt, "%s", why)
	}
	if why := oddName(s); why != "" {
		d.o.note(at, f.String(), why)
	}
	return s, d.pad(n, f)
}

// twice reports a repeated name of f.
func (d *decoder) twice(at int64, f field, name string) error {
	if d.o.Twice == nil {
		return d.fault(at, f.of(" name"), ErrCorrupt, "%q occurs twice", name)
	}
	d.o.Twice(&FormatError{File: d.o.File, Offset: d.o.Base + at, Field: f.of(" name").String(), Msg: fmt.Sprintf("%q occurs twice", name)})
	return nil
}

func (d *decoder) dims() error {
	c := d.h.Version.countSize()
	n, err := d.list(tagDimension, c+4+c, field{owner: "dim_list"})
	if err != nil {
		return err
	}
	seen := newNames(n)
	unlimited := -1
	d.h.Dims = make([]Dim, 0, startCap(n))
	for i := int64(0); i < n; i++ {
		at := d.pos
		name, err := d.name(field{owner: "dim", index: i + 1})
		if err != nil {
			return err
		}
		if seen.again(name) {
			if err := d.twice(at, field{owner: "dim", index: i + 1}, name); err != nil {
				return err
			}
		}
		f := field{owner: "dim", name: name, what: " length"}
		at = d.pos
		length, err := d.count(d.h.Version, f)
		if err != nil {
			return err
		}
		if length > d.h.Version.maxDim() {
			return d.fault(at, f, ErrCorrupt, "%d, want <= %d in %v", length, d.h.Version.maxDim(), d.h.Version)
		}
		if length == 0 {
			if unlimited >= 0 && !d.o.ZeroDims {
				return d.fault(at, f, ErrCorrupt, "0 makes a second unlimited dimension, the first is %q", d.h.Dims[unlimited].Name)
			}
			unlimited = int(i)
		}
		d.h.Dims = append(d.h.Dims, Dim{Name: name, Len: length})
	}
	return nil
}

func (d *decoder) vars() error {
	c := d.h.Version.countSize()
	// The fields of a variable without a name, dimids and attributes: length of the name, nelems of dimids,
	// tag and nelems of attributes, type, vsize, begin.
	minVar := c + 4 + c + tagLen + c + typeLen + c + d.h.Version.beginSize()
	n, err := d.list(tagVariable, minVar, field{owner: "var_list"})
	if err != nil {
		return err
	}
	seen := newNames(n)
	d.h.Vars = make([]Var, 0, startCap(n))
	for i := int64(0); i < n; i++ {
		at := d.pos
		name, err := d.name(field{owner: "var", index: i + 1})
		if err != nil {
			return err
		}
		if seen.again(name) {
			if err := d.twice(at, field{owner: "var", index: i + 1}, name); err != nil {
				return err
			}
		}
		d.h.Vars = append(d.h.Vars, Var{Name: name})
		if err := d.variable(int(i)); err != nil {
			return err
		}
	}
	return nil
}

// variable reads the rest of variable i, after its name.
func (d *decoder) variable(i int) error {
	h, v := d.h, &d.h.Vars[i]
	f := field{owner: "var", name: v.Name}
	if err := d.dimIDs(v, f); err != nil {
		return err
	}
	var err error
	if v.Atts, err = d.atts(f); err != nil {
		return err
	}
	if v.Type, err = d.extType(f.of(" type")); err != nil {
		return err
	}
	computed, ok := h.sizeWithin(i, math.MaxInt64-3)
	if !ok {
		return d.fault(d.pos-typeLen, f.of(" type"), ErrCorrupt, "the variable exceeds 2^63-4 bytes")
	}
	computed = pad4(computed)
	at := d.pos
	if v.VSize, err = d.count(h.Version, f.of(" vsize")); err != nil {
		return err
	}
	if h.Version != CDF5 && v.VSize == clippedVSize && computed > maxVSize32 {
		v.VSize = computed
	}
	if v.VSize != computed {
		d.o.note(at, f.of(" vsize").String(), fmt.Sprintf("%d, want %d", v.VSize, computed))
	}
	d.beginAt = append(d.beginAt, d.pos)
	at = d.pos
	if h.Version == CDF1 {
		b, err := d.u32(f.of(" begin"))
		if err != nil {
			return err
		}
		v.Begin = int64(int32(b))
	} else {
		b, err := d.u64(f.of(" begin"))
		if err != nil {
			return err
		}
		v.Begin = int64(b)
	}
	if v.Begin < 0 {
		return d.fault(at, f.of(" begin"), ErrCorrupt, "%d, want a non-negative offset", v.Begin)
	}
	return nil
}

func (d *decoder) dimIDs(v *Var, f field) error {
	c := d.h.Version.countSize()
	at := d.pos
	n, err := d.count(d.h.Version, f.of(" ndims"))
	if err != nil {
		return err
	}
	if err := d.fits(at, n, c, f.of(" ndims")); err != nil {
		return err
	}
	if n > 0 {
		v.Dims = make([]int, 0, startCap(n))
	}
	for k := int64(0); k < n; k++ {
		at := d.pos
		id, err := d.count(d.h.Version, f.of(" dimid"))
		if err != nil {
			return err
		}
		if id >= int64(len(d.h.Dims)) {
			return d.fault(at, field{owner: f.owner, name: f.name, part: " dimid", index: k + 1}, ErrCorrupt, "%d, want < %d", id, len(d.h.Dims))
		}
		if k > 0 && d.h.Dims[id].Len == 0 && !d.o.ZeroDims {
			return d.fault(at, field{owner: f.owner, name: f.name, part: " dimid", index: k + 1}, ErrCorrupt, "%d is the unlimited dimension %q, which must come first", id, d.h.Dims[id].Name)
		}
		v.Dims = append(v.Dims, int(id))
	}
	return nil
}

func (d *decoder) extType(f field) (Type, error) {
	at := d.pos
	t, err := d.u32(f)
	if err != nil {
		return 0, err
	}
	if !Type(t).ValidIn(d.h.Version) {
		last := Double
		if d.h.Version == CDF5 {
			last = UInt64
		}
		return 0, d.fault(at, f, ErrCorrupt, "%d, want 1 to %d in %v", t, last, d.h.Version)
	}
	return Type(t), nil
}

// atts reads the attribute list of owner.
func (d *decoder) atts(owner field) ([]Att, error) {
	c := d.h.Version.countSize()
	f := owner
	f.part = " att_list"
	n, err := d.list(tagAttribute, c+4+typeLen+c, f)
	if err != nil || n == 0 {
		return nil, err
	}
	f.part = " att"
	seen := newNames(n)
	list := make([]Att, 0, startCap(n))
	for i := int64(0); i < n; i++ {
		at := d.pos
		f.index, f.sub = i+1, ""
		name, err := d.name(f)
		if err != nil {
			return nil, err
		}
		if seen.again(name) {
			if err := d.twice(at, f, name); err != nil {
				return nil, err
			}
		}
		a := Att{Name: name}
		f.index, f.sub = 0, name
		if a.Type, err = d.extType(f.of(" type")); err != nil {
			return nil, err
		}
		if err := d.values(&a, f); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (d *decoder) values(a *Att, f field) error {
	at := d.pos
	n, err := d.count(d.h.Version, f.of(" nelems"))
	if err != nil {
		return err
	}
	size := int64(a.Type.Size())
	if err := d.fits(at, n, size, f.of(" nelems")); err != nil {
		return err
	}
	f.what = " values"
	b, err := d.run(n*size, f)
	if err != nil {
		return err
	}
	if a.Type == Char {
		a.Value = string(b)
	} else {
		a.Value = NewSlice(a.Type, int(n))
		if err := FromFile(a.Value, b, d.big, a.Type); err != nil {
			return err
		}
	}
	return d.pad(n*size, f)
}

// names finds repeated names. Short lists, such as most attribute lists, need no map.
type names struct {
	few [16]string
	n   int
	m   map[string]struct{}
}

func newNames(n int64) names {
	if n > int64(len(names{}.few)) {
		return names{m: make(map[string]struct{}, startCap(n))}
	}
	return names{}
}

// again records s and reports whether it was recorded before.
func (n *names) again(s string) bool {
	if n.m != nil {
		if _, ok := n.m[s]; ok {
			return true
		}
		n.m[s] = struct{}{}
		return false
	}
	for _, x := range n.few[:n.n] {
		if x == s {
			return true
		}
	}
	n.few[n.n] = s
	n.n++
	return false
}
