package pio

import (
	"errors"
	"fmt"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Text holds characters in memory, for variables and attributes of cdf5.Char. In contrast, a []byte holds unsigned numbers.
type Text []byte

// attsOf returns the attributes of a variable, or of the file for Global, and the owner's name for errors.
func (f *definitions) attsOf(v int) (*[]cdf5.Att, string, error) {
	if v == Global {
		return &f.atts, f.path, f.usable()
	}
	x, err := f.variable(v)
	if err != nil {
		return nil, "", err
	}
	return &x.atts, f.path + ": variable " + x.name, nil
}

// PutAtt sets an attribute of a variable, or of the file for Global. value is a slice of numbers, or Text for Char; PutAtt
// converts it to type t. It replaces an existing attribute.
func (f *definitions) PutAtt(v int, name string, t cdf5.Type, value any) error {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.writable(), checkName(name)); err != nil {
		return err
	}
	list, what, err := f.attsOf(v)
	if err != nil {
		return err
	}
	if err := f.typed("attribute", name, t); err != nil {
		return err
	}
	a, err := attOf(name, t, value)
	if err != nil {
		err = fmt.Errorf("%s: attribute %q: %w", what, name, err)
	}
	if err != nil && !errors.Is(err, fault.ErrRange) {
		return err
	}
	if v != Global && name == "_FillValue" && (t != f.vars[v].t || a.Len() != 1) {
		code := EBADTYPE
		if t == f.vars[v].t {
			code = EINVAL
		}
		return failed(code, "%s: _FillValue has %d elements of type %v, want 1 of %v", what, a.Len(), t, f.vars[v].t)
	}
	old := cdf5.FindAtt(*list, name)
	if old == nil || a.Len() > old.Len() { // other attributes do not begin define mode, as in netCDF
		f.began = f.auto
	}
	f.changed = true
	if old != nil {
		*old = a
	} else {
		*list = append(*list, a)
	}
	return err
}

// attOf makes an attribute from a value in memory.
func attOf(name string, t cdf5.Type, value any) (cdf5.Att, error) {
	if !t.Valid() {
		return cdf5.Att{}, failed(EBADTYPE, "type %d, want 1..11", t)
	}
	text, isText := value.(Text)
	if isText != (t == cdf5.Char) {
		return cdf5.Att{}, failed(ECHAR, "memory type %T cannot be used for type %v", value, t)
	}
	if isText {
		return cdf5.Att{Name: name, Type: t, Value: string(text)}, nil
	}
	m, n, have, err := memoryOf(value)
	if err != nil {
		return cdf5.Att{}, err
	}
	b, err := converted(t, have, m, (&variable{t: t}).fill())
	out := cdf5.NewSlice(t, int(n))
	copy(bytesOf(out), b)
	return cdf5.Att{Name: name, Type: t, Value: out}, err
}

// Att returns an attribute of a variable, or of the file for Global, with values of the attribute's type. The caller must not
// change it.
func (f *definitions) Att(v int, name string) (cdf5.Att, error) {
	list, what, err := f.attsOf(v)
	if err != nil {
		return cdf5.Att{}, err
	}
	a := cdf5.FindAtt(*list, name)
	if a == nil {
		return cdf5.Att{}, failed(ENOTATT, "%s: attribute %q", what, name)
	}
	return *a, nil
}

// GetAtt reads an attribute into a slice of numbers, or a Char attribute into Text. into must be at least as long as the
// attribute. Values are converted. A value that does not fit becomes the default fill value of into's type, with ERANGE.
func (f *definitions) GetAtt(v int, name string, into any) error {
	a, err := f.Att(v, name)
	if err != nil {
		return err
	}
	text, isText := into.(Text)
	if isText != (a.Type == cdf5.Char) {
		return failed(ECHAR, "%s: attribute %q has type %v, but memory has type %T", f.path, name, a.Type, into)
	}
	if isText {
		if s := a.Value.(string); copy(text, s) < len(s) {
			return failed(EINVAL, "%s: attribute %q: the buffer has %d bytes, want %d", f.path, name, len(text), len(s))
		}
		return nil
	}
	n, _, ok := cdf5.SliceLen(into)
	if !ok || int64(n) < a.Len() {
		return failed(EINVAL, "%s: attribute %q: the buffer has %d elements of %T, want %d numbers", f.path, name, n, into, a.Len())
	}
	b, _ := cdf5.Bytes(a.Value)
	if err := restored(elem.Sub(into, 0, int(a.Len())), b, a.Type); err != nil {
		return fmt.Errorf("%s: attribute %q: %w", f.path, name, err)
	}
	return nil
}

// AttName returns the name of attribute i of a variable, or of the file for Global.
func (f *definitions) AttName(v, i int) (string, error) {
	list, what, err := f.attsOf(v)
	if err != nil {
		return "", err
	}
	if i < 0 || i >= len(*list) {
		return "", failed(ENOTATT, "%s: attribute %d, want %s", what, i, fault.Below(len(*list), "attributes"))
	}
	return (*list)[i].Name, nil
}

// AttID returns the number of an attribute.
func (f *definitions) AttID(v int, name string) (int, error) {
	name = cdf5.NormalName(name)
	if _, err := f.Att(v, name); err != nil {
		return -1, err
	}
	list, _, _ := f.attsOf(v)
	return slices.IndexFunc(*list, func(a cdf5.Att) bool { return a.Name == name }), nil
}

// DeleteAtt removes an attribute.
func (f *definitions) DeleteAtt(v int, name string) error {
	name = cdf5.NormalName(name)
	if err := f.definable(); err != nil {
		return err
	}
	i, err := f.AttID(v, name)
	if err != nil {
		return err
	}
	list, _, _ := f.attsOf(v)
	*list, f.changed = slices.Delete(*list, i, i+1), true
	return nil
}

// RenameAtt renames an attribute.
func (f *definitions) RenameAtt(v int, name, to string) error {
	name, to = cdf5.NormalName(name), cdf5.NormalName(to)
	if err := f.renamable(name, to); err != nil {
		return err
	}
	i, err := f.AttID(v, name)
	if err != nil {
		return err
	}
	list, what, _ := f.attsOf(v)
	if cdf5.FindAtt(*list, to) != nil {
		return failed(ENAMEINUSE, "%s: attribute %q", what, to)
	}
	(*list)[i].Name, f.changed = to, true
	return nil
}
