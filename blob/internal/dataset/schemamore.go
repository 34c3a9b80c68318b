package dataset

import (
	"fmt"
	"slices"
)

// WithAdded returns the schema with the variables in names, which a later set of subfiles has added. set is the schema of
// that set.
func (s *Schema) WithAdded(names []string, set *Schema) (*Schema, error) {
	if err := SameMaps(s, set); err != nil {
		return nil, err
	}
	t := *s
	t.Dims, t.Vars = slices.Clip(s.Dims), slices.Clip(s.Vars)
	for i, d := range set.Dims {
		switch {
		case i < len(s.Dims) && s.Dims[i] != d:
			return nil, fmt.Errorf("dimension %d is %q of length %d, want %q of length %d", i, d.Name, d.Len, s.Dims[i].Name, s.Dims[i].Len)
		case i >= len(s.Dims):
			t.Dims = append(t.Dims, d)
		}
	}
	before, there := map[string]bool{}, map[string]*Variable{}
	for i := range s.Vars {
		before[s.Vars[i].Name] = true
	}
	for i := range set.Vars {
		there[set.Vars[i].Name] = &set.Vars[i]
	}
	for _, name := range names {
		v := there[name]
		if v == nil || !v.Record {
			return nil, fmt.Errorf("the manifest lists a new variable %q, but no record variable has this name", name)
		}
		if before[name] {
			return nil, fmt.Errorf("variable %q is new according to the manifest, but exists already", name)
		}
		before[name] = true
		t.Vars = append(t.Vars, *v)
	}
	return &t, nil
}

// SameMaps returns an error if two schemas have different decompositions.
func SameMaps(a, b *Schema) error {
	if len(a.Decomps) != len(b.Decomps) {
		return fmt.Errorf("%d decompositions, but the other file has %d", len(b.Decomps), len(a.Decomps))
	}
	for d := range a.Decomps {
		if x, y := a.DecompDims(DecompID(d+1)), b.DecompDims(DecompID(d+1)); !slices.Equal(x, y) {
			return fmt.Errorf("decomposition D%d has shape %v here, but %v in the other file", d+1, y, x)
		}
	}
	return nil
}

// RecordsOnly returns the schema without its fixed variables.
func (s *Schema) RecordsOnly() *Schema {
	t := *s
	t.Vars = nil
	for i := range s.Vars {
		if s.Vars[i].Record {
			t.Vars = append(t.Vars, s.Vars[i])
		}
	}
	return &t
}

// CanFollow returns an error if a set of subfiles cannot hold further records of the dataset, because its schema does not
// match.
func (s *Schema) CanFollow(set *Schema) error {
	if err := SameMaps(s, set); err != nil {
		return err
	}
	ids := s.VarIDs()
	for v := range set.Vars {
		y := &set.Vars[v]
		k, ok := ids[y.Name]
		if !ok {
			continue
		}
		x := &s.Vars[k]
		if x.Type != y.Type || x.Decomp != y.Decomp || x.Record != y.Record || !slices.Equal(s.Shape(k), set.Shape(VarID(v))) {
			return fmt.Errorf("variable %q is %v%v of D%d in the other file, but %v%v of D%d here", y.Name, x.Type, s.dimNames(x), x.Decomp, y.Type, set.dimNames(y), y.Decomp)
		}
	}
	return nil
}
