package netcdf4

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// member is a dataset of the root group that Open has found.
type member struct {
	*h5.Dataset
	name  string
	scale bool
	title string // attribute NAME of a dimension scale
	dimID int64  // -1: none
}

// Is reports whether an HDF5 file is netCDF-4: it has the netCDF mark or a dimension scale.
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

// FromFile reads the metadata of a file and returns a View. name is for errors. The View leaves out items that CDF-5 cannot hold,
// see View.LeftOut: groups, user-defined types, strings as elements, fixed dimensions of length 0, datasets without dimension
// scales. If the CDF-5 header is larger than most bytes, the error is ErrTooLarge; most 0 means no limit.
func FromFile(f *h5.File, name string, most int64) (*View, error) {
	o := &opener{name: name, most: most, h: &cdf5.Header{Version: cdf5.CDF5}, dims: map[int64]int{}, byID: map[int64]int{}}
	if err := o.members(f); err != nil {
		return nil, err
	}
	if err := o.dimensions(); err != nil {
		return nil, err
	}
	for _, m := range o.all {
		if err := o.leave(o.variable(m)); err != nil {
			return nil, err
		}
	}
	return newView(o)
}

type opener struct {
	name   string
	h      *cdf5.Header
	all    []*member
	scales []*member     // scales of all dimensions
	dims   map[int64]int // index in scales by address
	byID   map[int64]int // index in scales by netCDF dimension id
	kept   []int         // by index in scales: index of the dimension in h, or -1 if it is left out
	data   []*h5.Dataset // by index of the variable in h
	most   int64         // maximum bytes of a header; 0: no limit
	used   int64         // header bytes used so far
	left   []error       // errors for items that CDF-5 cannot hold
}

// leave records err if it means that CDF-5 cannot hold an item. It returns any other error.
func (o *opener) leave(err error) error {
	if errors.Is(err, fault.ErrUnsupported) {
		o.left = append(o.left, err)
		return nil
	}
	return err
}

// use counts n bytes of the header, and fails if they exceed most.
func (o *opener) use(n int) error {
	if o.used += int64(n); o.most > 0 && o.used > o.most {
		return fault.At(o.name, -1, "header", fault.ErrTooLarge, "names and attributes have at least %d bytes, want at most %d", o.used, o.most)
	}
	return nil
}

// unsupported returns the error for a netCDF-4 item that CDF-5 cannot hold.
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
		const least = 52 // bytes of a variable without its name and attributes
		if err := o.use(least + len(l.Name)); err != nil {
			return err
		}
		d, err := o.dataset(g, l)
		if err := o.leave(err); err != nil {
			return err
		}
		if d == nil {
			continue
		}
		m := &member{Dataset: d, name: l.Name, dimID: -1}
		if err := o.scale(m); err != nil {
			return err
		}
		o.all = append(o.all, m)
	}
	return nil
}

// dataset opens a member of the root group.
func (o *opener) dataset(g *h5.Group, l h5.Link) (*h5.Dataset, error) {
	field := "member " + l.Name
	obj, err := g.Open(l)
	if err != nil {
		return nil, err
	}
	if obj.Kind() != h5.KindDataset {
		return nil, o.unsupported(field, "an HDF5 %s is not supported in CDF-5, only datasets of the root group", obj.Kind())
	}
	d, err := obj.Dataset()
	if err == nil && d.Null() {
		return nil, o.unsupported(field, "the null dataspace has no elements and no shape")
	}
	return d, err
}

// dimensions makes a dimension from each scale. If all scales have ids, the dimensions are in the order of ids.
func (o *opener) dimensions() error {
	var scales []*member
	withID := true
	for _, m := range o.all {
		if m.scale {
			scales = append(scales, m)
			withID = withID && m.dimID >= 0
		}
	}
	if withID { // ids have gaps if groups define dimensions
		slices.SortStableFunc(scales, func(a, b *member) int { return cmp.Compare(a.dimID, b.dimID) })
	}
	o.scales = scales
	for i, m := range scales {
		id := int64(i)
		if withID {
			id = m.dimID
		}
		if k, ok := o.byID[id]; ok {
			return fault.At(o.name, -1, "attribute "+attDimID+" of "+m.name, fault.ErrCorrupt, "%d, but %s has the same id", id, scales[k].name)
		}
		o.byID[id], o.dims[m.Addr()] = i, i
	}
	lengths, err := o.lengths()
	if err != nil {
		return err
	}
	grows := false
	for i, m := range scales {
		n := lengths[i]
		o.kept = append(o.kept, -1)
		if m.MaxDims()[0] == h5.Unlimited && !grows {
			grows, o.h.NumRecs, n = true, n, 0
		} else if n == 0 {
			if err := o.leave(o.unsupported("dimension "+m.name, "length 0 means an unlimited dimension in CDF-5")); err != nil {
				return err
			}
			continue
		}
		o.kept[i] = len(o.h.Dims)
		o.h.Dims = append(o.h.Dims, cdf5.Dim{Name: m.name, Len: n})
	}
	return nil
}

// lengths returns the current lengths of the dimensions, by index in scales. The length of an unlimited dimension is the maximum
// over its variables, because the scale of a dimension without a coordinate variable does not grow.
func (o *opener) lengths() ([]int64, error) {
	l := make([]int64, len(o.scales))
	for i, m := range o.scales {
		l[i] = m.Dims()[0]
	}
	for _, m := range o.all {
		ids, err := o.dimsOf(m)
		if errors.Is(err, fault.ErrUnsupported) {
			continue // the method variable reports the error
		}
		if err != nil {
			return nil, err
		}
		for k, i := range ids {
			if o.scales[i].MaxDims()[0] == h5.Unlimited {
				l[i] = max(l[i], m.Dims()[k])
			}
		}
	}
	return l, nil
}

// variable adds a dataset to the header, unless the dataset is only a dimension.
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
		return o.unsupported("variable "+v.Name, "CDF-5 has no type for elements of type %s", m.Type())
	}
	ids, err := o.dimsOf(m)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if o.kept[id] < 0 {
			return o.unsupported("variable "+v.Name, "CDF-5 does not support the dimension %s", o.scales[id].name)
		}
		v.Dims = append(v.Dims, o.kept[id])
	}
	for i, n := range m.Dims() {
		d := &o.h.Dims[v.Dims[i]]
		switch {
		case d.Len == 0 && i > 0:
			return o.unsupported("variable "+v.Name, "the unlimited dimension %s is not the first", d.Name)
		case d.Len == 0:
			o.h.NumRecs = max(o.h.NumRecs, n)
		case n != d.Len:
			return fault.At(o.name, -1, "variable "+v.Name, fault.ErrUnsupported, "%d elements along dimension %s of length %d: CDF-5 does not support partly written dimensions", n, d.Name, d.Len)
		}
	}
	if v.Atts, err = o.atts(m.Object, "variable "+v.Name); err != nil {
		return err
	}
	o.h.Vars = append(o.h.Vars, v)
	o.data = append(o.data, m.Dataset)
	return nil
}

// dimsOf returns the dimensions of a variable, by index in scales. It uses the ids that newer libraries write, otherwise the
// references to dimension scales, or for a scale the scale itself.
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
			k, ok := o.byID[id]
			if !ok && len(o.left) > 0 {
				return nil, o.unsupported(field, "dimension %d does not belong to the root group", id)
			}
			if !ok {
				return nil, fault.At(o.name, -1, field, fault.ErrCorrupt, "no dimension has id %d", id)
			}
			out[i] = k
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

// atts returns the users' attributes.
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
			if err := o.leave(err); err != nil {
				return nil, err
			}
			continue
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
	const least = 24 // bytes of an attribute without its name and values
	if err := o.use(least + len(a.Name) + len(raw)); err != nil {
		return x, err
	}
	many := a.Elems() > 1
	switch a.Type.Class() {
	case h5.ClassString:
		if many && a.Type.Size() > 1 {
			return x, o.unsupported("attribute "+a.Name+" of "+of, "%d strings, want one", a.Elems())
		}
		x.Type, x.Value = cdf5.Char, string(raw) // trailing zeros stay, as in the netCDF library
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
