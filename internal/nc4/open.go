package nc4

import (
	"errors"
	"strings"

	"blobio/cdf5"
	"blobio/internal/fault"
	"blobio/internal/h5"
)

// member is a dataset of the root group as Open finds it.
type member struct {
	*h5.Dataset
	name  string
	scale bool
	title string // NAME of a scale
	dimID int64  // -1: none
}

// Is says whether a file that is HDF5 is meant as netCDF-4: it has the mark of netCDF, or a dimension scale.
func Is(f *h5.File) bool {
	g, err := f.Root()
	if err != nil {
		return false
	}
	if _, err := g.Attr(attProperties); err == nil {
		return true
	}
	for l, err := range g.Members() {
		if err != nil {
			return false
		}
		if o, err := g.Open(l); err == nil {
			if a, err := o.Attr(attClass); err == nil {
				if s, err := a.Text(); err == nil && s == scaleClass {
					return true
				}
			}
		}
	}
	return false
}

// FromFile reads what a file says of itself and returns a View of it. name is for errors. What CDF-5 cannot say is
// ErrUnsupported: groups, types of users, strings as elements, dimensions of length 0, datasets without dimension scales. What it says may take so many
// bytes as a header of CDF-5, or it is ErrTooLarge; 0: any.
func FromFile(f *h5.File, name string, most int64) (*View, error) {
	o := &opener{name: name, most: most, h: &cdf5.Header{Version: cdf5.CDF5}, dims: map[int64]int{}}
	if err := o.members(f); err != nil {
		return nil, err
	}
	if err := o.dimensions(); err != nil {
		return nil, err
	}
	for _, m := range o.all {
		if err := o.variable(m); err != nil {
			return nil, err
		}
	}
	return newView(o)
}

type opener struct {
	name string
	h    *cdf5.Header
	all  []*member
	dims map[int64]int // dimension by address of its scale
	grow int           // the record dimension, or -1
	data []*h5.Dataset // by variable of h
	most int64         // bytes of a header, 0: any
	used int64         // of what was read so far
}

// use counts what will be in the header, before more is read.
func (o *opener) use(n int) error {
	if o.used += int64(n); o.most > 0 && o.used > o.most {
		return fault.At(o.name, -1, "header", fault.ErrTooLarge, "names and attributes of %d bytes or more, cap is %d", o.used, o.most)
	}
	return nil
}

// unsupported is the error for what netCDF-4 has and CDF-5 has not.
func (o *opener) unsupported(field, format string, args ...any) error {
	return fault.At(o.name, -1, field, fault.ErrUnsupported, format, args...)
}

// members opens all datasets.
func (o *opener) members(f *h5.File) error {
	g, err := f.Root()
	if err != nil {
		return err
	}
	if o.h.Atts, err = o.atts(g.Object, "the file"); err != nil {
		return err
	}
	for l, err := range g.Members() {
		if err != nil {
			return err
		}
		const least = 52 // bytes of a variable without name and attributes
		if err := o.use(least + len(l.Name)); err != nil {
			return err
		}
		obj, err := g.Open(l)
		if err != nil {
			return err
		}
		if obj.Kind() != h5.KindDataset {
			return o.unsupported("member "+l.Name, "a %s of HDF5: only datasets of the root group have a place in CDF-5", obj.Kind())
		}
		d, err := obj.Dataset()
		if err != nil {
			return err
		}
		m := &member{Dataset: d, name: l.Name, dimID: -1}
		if err := o.scale(m); err != nil {
			return err
		}
		o.all = append(o.all, m)
	}
	return nil
}

// dimensions makes the dimensions of scales: in the order of their ids, where all have one.
func (o *opener) dimensions() error {
	var scales []*member
	withID := true
	for _, m := range o.all {
		if m.scale {
			scales = append(scales, m)
			withID = withID && m.dimID >= 0
		}
	}
	order := scales
	if withID {
		order = make([]*member, len(scales))
		for _, m := range scales {
			if m.dimID >= int64(len(order)) || order[m.dimID] != nil {
				return fault.At(o.name, -1, "attribute "+attDimID+" of "+m.name, fault.ErrCorrupt, "%d, want each of 0 to %d once", m.dimID, len(order)-1)
			}
			order[m.dimID] = m
		}
	}
	o.grow = -1
	for i, m := range order {
		n := m.Dims()[0]
		if m.MaxDims()[0] == h5.Unlimited && o.grow < 0 {
			o.grow, o.h.NumRecs, n = i, n, 0
		} else if n == 0 {
			return o.unsupported("dimension "+m.name, "length 0, which is the unlimited dimension in CDF-5")
		}
		o.h.Dims = append(o.h.Dims, cdf5.Dim{Name: m.name, Len: n})
		o.dims[m.Addr()] = i
	}
	return nil
}

// variable adds what is not a mere dimension.
func (o *opener) variable(m *member) error {
	if m.scale && strings.HasPrefix(m.title, noVariable) {
		return nil
	}
	v := cdf5.Var{Name: strings.TrimPrefix(m.name, notCoordinate)}
	ok := false
	for t := range types {
		if same := types[t]; t > 0 && (m.Type().Little() == same || cdf5.Type(t) == cdf5.Char && m.Type().Class() == h5.ClassString && m.Type().Size() == 1) {
			v.Type, ok = cdf5.Type(t), true
		}
	}
	if !ok {
		return o.unsupported("variable "+v.Name, "elements of type %s", m.Type())
	}
	var err error
	if v.Dims, err = o.dimsOf(m); err != nil {
		return err
	}
	for i, n := range m.Dims() {
		d := &o.h.Dims[v.Dims[i]]
		switch {
		case d.Len == 0 && i > 0:
			return o.unsupported("variable "+v.Name, "the unlimited dimension %s is not the first", d.Name)
		case d.Len == 0:
			o.h.NumRecs = max(o.h.NumRecs, n)
		case n != d.Len:
			return fault.At(o.name, -1, "variable "+v.Name, fault.ErrUnsupported, "%d elements along %s, which has %d", n, d.Name, d.Len)
		}
	}
	if v.Atts, err = o.atts(m.Object, "variable "+v.Name); err != nil {
		return err
	}
	o.h.Vars = append(o.h.Vars, v)
	o.data = append(o.data, m.Dataset)
	return nil
}

// dimsOf finds the dimensions of a variable: by the ids that newer libraries write, by the references of dimension
// scales, or for a scale itself.
func (o *opener) dimsOf(m *member) ([]int, error) {
	rank := m.Rank()
	if rank == 0 {
		return nil, nil
	}
	out := make([]int, rank)
	field := "dimensions of " + m.name
	if a, err := m.Attr(attCoordinates); err == nil {
		ids, err := a.Int64s()
		if err != nil {
			return nil, err
		}
		if len(ids) != rank {
			return nil, fault.At(o.name, -1, field, fault.ErrCorrupt, "%d ids, want %d", len(ids), rank)
		}
		for i, id := range ids {
			if id < 0 || id >= int64(len(o.h.Dims)) {
				return nil, fault.At(o.name, -1, field, fault.ErrCorrupt, "id %d, want 0 to %d", id, len(o.h.Dims)-1)
			}
			out[i] = int(id)
		}
		return out, nil
	}
	if m.scale && rank == 1 {
		out[0] = o.dims[m.Addr()]
		return out, nil
	}
	a, err := m.Attr(attDims)
	if errors.Is(err, fault.ErrMissing) {
		return nil, o.unsupported(field, "no dimension scales")
	}
	if err != nil {
		return nil, err
	}
	refs, err := a.References()
	if err != nil {
		return nil, err
	}
	if len(refs) != rank {
		return nil, fault.At(o.name, -1, field, fault.ErrCorrupt, "%d lists of references, want %d", len(refs), rank)
	}
	for i, l := range refs {
		d, ok := -1, false
		if len(l) > 0 {
			d, ok = o.dims[l[0]]
		}
		if !ok {
			return nil, o.unsupported(field, "dimension %d has no scale", i)
		}
		out[i] = d
	}
	return out, nil
}

// atts are the attributes of a user.
func (o *opener) atts(obj *h5.Object, of string) (l []cdf5.Att, err error) {
	for a, err := range obj.Attrs() {
		if err != nil {
			return nil, err
		}
		if reserved[a.Name] {
			continue
		}
		x, err := o.att(a, of)
		if err != nil {
			return nil, err
		}
		l = append(l, x)
	}
	return l, nil
}

func (o *opener) att(a *h5.Attr, of string) (cdf5.Att, error) {
	x := cdf5.Att{Name: a.Name}
	raw, err := a.Raw()
	if err != nil {
		return x, err
	}
	const least = 24 // bytes of an attribute without name and values
	if err := o.use(least + len(a.Name) + len(raw)); err != nil {
		return x, err
	}
	many := a.Elems() > 1
	switch a.Type.Class() {
	case h5.ClassString:
		if many && a.Type.Size() > 1 {
			return x, o.unsupported("attribute "+a.Name+" of "+of, "%d strings, want one", a.Elems())
		}
		x.Type, x.Value = cdf5.Char, string(raw) // all of it, as netCDF has it
		return x, nil
	case h5.ClassVlen:
		s, err := a.Value()
		if err != nil {
			return x, err
		}
		l, ok := s.([]string)
		if !ok || len(l) > 1 {
			return x, o.unsupported("attribute "+a.Name+" of "+of, "%d values of type %s, want one string", a.Elems(), a.Type)
		}
		x.Type, x.Value = cdf5.Char, strings.Join(l, "")
		return x, nil
	}
	for t := range types {
		if t > 0 && a.Type.Little() == types[t] {
			x.Type = cdf5.Type(t)
			x.Value, err = a.Value()
			return x, err
		}
	}
	return x, o.unsupported("attribute "+a.Name+" of "+of, "values of type %s", a.Type)
}
