package dataset

import (
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// FixedAtts are attributes that determine the meaning of the data in the files, so they cannot change.
var FixedAtts = []string{"", "_FillValue", AttDecompID, AttDimIDs, AttNprocs, AttSubfiles}

// EncodeAtt returns an attribute in the format of the manifest.
func EncodeAtt(of string, a *cdf5.Att) (subfile.AttInfo, error) {
	x := subfile.AttInfo{Var: of, Name: a.Name, Type: a.Type.String()}
	if t, ok := a.Value.(string); ok {
		x.Data = []byte(t)
	} else if b, ok := cdf5.Bytes(a.Value); ok {
		if x.Data = slices.Clone(b); !HostBig {
			elem.Swap(x.Data, x.Data, a.Type.Size())
		}
	}
	h := cdf5.Header{Version: cdf5.CDF5, Atts: []cdf5.Att{*a}} // to check whether a header accepts the attribute
	if err := h.Layout(nil); err != nil {
		return x, fault.Usage("attribute %q: %v", a.Name, err)
	}
	return x, nil
}

// WithAtts returns the schema with the attributes of a manifest.
func (s *Schema) WithAtts(list []subfile.AttInfo, name string) (*Schema, error) {
	if len(list) == 0 {
		return s, nil
	}
	t := *s
	t.Atts, t.Vars = slices.Clone(s.Atts), slices.Clone(s.Vars)
	for i := range t.Vars {
		t.Vars[i].Atts = slices.Clone(t.Vars[i].Atts)
	}
	type key struct {
		v    VarID
		name string
	}
	vars, at := map[string]VarID{"": -1}, map[key]int{}
	for i := len(t.Vars) - 1; i >= 0; i-- {
		vars[t.Vars[i].Name] = VarID(i)
	}
	atts := func(v VarID) *[]cdf5.Att {
		if v < 0 {
			return &t.Atts
		}
		return &t.Vars[v].Atts
	}
	for v := VarID(-1); int(v) < len(t.Vars); v++ {
		for i := range *atts(v) {
			at[key{v, (*atts(v))[i].Name}] = i
		}
	}
	for k := range list {
		x := &list[k]
		v, ok := vars[x.Var]
		if !ok {
			return nil, fault.At(name, -1, "atts", ErrCorrupt, "attribute %q belongs to an unknown variable %q", x.Name, x.Var)
		}
		typ, err := cdf5.ParseType(x.Type)
		if err != nil || len(x.Data)%typ.Size() != 0 || slices.Contains(FixedAtts, x.Name) {
			return nil, fault.At(name, -1, "atts", ErrCorrupt, "attribute %q with %d bytes of type %q is invalid", x.Name, len(x.Data), x.Type)
		}
		a := cdf5.Att{Name: x.Name, Type: typ, Value: string(x.Data)}
		if typ != cdf5.Char {
			b := slices.Clone(x.Data)
			if !HostBig {
				elem.Swap(b, b, typ.Size())
			}
			a.Value = cdf5.View(typ, b)
		}
		if i, ok := at[key{v, a.Name}]; ok {
			(*atts(v))[i] = a
			continue
		}
		at[key{v, a.Name}] = len(*atts(v))
		*atts(v) = append(*atts(v), a)
	}
	return &t, nil
}
