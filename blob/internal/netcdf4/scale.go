package netcdf4

import (
	"errors"

	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// scale records whether a dataset is a dimension scale, and the name and id of that scale. An unreadable attribute is an error,
// because otherwise a dimension could be mistaken for a variable or another dimension.
func (o *opener) scale(m *member) error {
	class, err := o.attr(m, attClass)
	if class == nil || err != nil {
		return err
	}
	if s, err := class.Text(); errors.Is(err, fault.ErrUsage) || err == nil && s != scaleClass { // an attribute CLASS with another meaning
		return nil
	} else if err != nil {
		return err
	}
	if m.Rank() == 0 {
		return nil
	}
	m.scale = true
	title, err := o.attr(m, attName)
	if err != nil {
		return err
	}
	if title != nil {
		if m.title, err = title.Text(); err != nil {
			return o.notScale(m, title, "a text", err)
		}
	}
	id, err := o.attr(m, attDimID)
	if id == nil || err != nil {
		return err
	}
	ids, err := id.Int64s()
	if err != nil || len(ids) != 1 {
		return o.notScale(m, id, "a number", err)
	}
	m.dimID = ids[0]
	return nil
}

// attr returns an attribute of a dataset, or nil if there is none.
func (o *opener) attr(m *member, name string) (*h5.Attr, error) {
	a, err := m.Attr(name)
	if errors.Is(err, fault.ErrMissing) {
		return nil, nil
	}
	return a, err
}

// notScale returns the error for an invalid or unreadable attribute of a dimension scale.
func (o *opener) notScale(m *member, a *h5.Attr, want string, err error) error {
	if err != nil && !errors.Is(err, fault.ErrUsage) {
		return err
	}
	return fault.At(o.name, -1, "attribute "+a.Name+" of "+m.name, fault.ErrCorrupt, "%d elements of type %s, want %s", a.Elems(), a.Type, want)
}
