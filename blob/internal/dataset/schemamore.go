package dataset

import (
	"blobio/internal/base/fault"
	"fmt"
	"slices"
)

func (s *Schema) hasDimName(name string) bool {
	for i := range s.Dims {
		if s.Dims[i].Name == name {
			return true
		}
	}
	return false
}

func (s *Schema) checkNewDim(name string, n int64) {
	switch {
	case n == Unlimited:
		s.fail("dimension %q: a dataset that is there cannot be given an unlimited one", name)
	case s.hasDimName(name):
		s.fail("dimension %q: there is one of this name", name)
	}
}

func (s *Schema) checkNewVar(v *Variable) {
	if !v.Record {
		s.fail("variable %q: an append adds variables with records only: those without are in the first set of subfiles", v.Name)
	}
	if _, ok := s.VarID(v.Name); ok || slices.Contains(s.Fixed, v.Name) {
		s.fail("variable %q: there is one of this name", v.Name)
	}
}

// checkLayoutAtt refuses an attribute of a variable that layouts write themselves: a reader would take it for theirs.
func (s *Schema) checkLayoutAtt(name string) {
	if name == AttDecompID || name == AttDimIDs {
		s.fail("attribute %q of a variable: the layout has one of this name", name)
	}
}

// checkNewAtt is of an attribute of a variable, or of the dataset if v is -1.
func (s *Schema) checkNewAtt(v VarID, name string) {
	if s.Files != nil && int(v) < len(s.Files.Vars) {
		s.fail("attribute %q of what is in the files: Writer.SetAtt sets it", name)
	}
	if v >= 0 {
		s.checkLayoutAtt(name)
	}
}

// CheckExtension says what is wrong with what is to be added to some dataset, before anybody looks at that.
func (s *Schema) CheckExtension() error {
	switch {
	case s.Err != nil:
		return s.Err
	case s.Files == nil:
		return fault.Usage("append: the schema is none of Reader.Extend")
	}
	vars := s.Vars[len(s.Files.Vars):]
	for d := len(s.Files.Dims); d < len(s.Dims); d++ {
		if !slices.ContainsFunc(vars, func(v Variable) bool { return slices.Contains(v.Dims, DimID(d)) }) {
			return fault.Usage("append: dimension %q is new, but no new variable has it", s.Dims[d].Name)
		}
	}
	return nil
}

// Extended is the schema of a dataset with what an extension adds that CheckExtension finds right, and the names of the new variables.
func (s *Schema) Extended(by *Schema) (*Schema, []string, error) {
	if d := s.Differ(by.Files, true, false); len(d) > 0 || SameMaps(s, by.Files) != nil {
		return nil, nil, fault.Usage("append: the schema is an extension of another one than the dataset has now")
	}
	vars := by.Vars[len(by.Files.Vars):]
	t := *s
	t.Dims, t.Vars = by.Dims, slices.Concat(s.Vars, vars)
	var names []string
	for i := range vars {
		names = append(names, vars[i].Name)
	}
	return &t, names, nil
}

// WithAdded is the schema with variables that a later set of subfiles was the first to have, of whose files set is the schema.
func (s *Schema) WithAdded(names []string, set *Schema) (*Schema, error) {
	if err := SameMaps(s, set); err != nil {
		return nil, err
	}
	t := *s
	t.Dims, t.Vars = slices.Clip(s.Dims), slices.Clip(s.Vars)
	for i, d := range set.Dims {
		switch {
		case i < len(s.Dims) && s.Dims[i] != d:
			return nil, fmt.Errorf("dimension %d is %q of length %d, want %q of %d", i, d.Name, d.Len, s.Dims[i].Name, s.Dims[i].Len)
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
			return nil, fmt.Errorf("no variable %q with records, which the manifest says is new", name)
		}
		if before[name] {
			return nil, fmt.Errorf("variable %q, which the manifest says is new, is there before", name)
		}
		before[name] = true
		t.Vars = append(t.Vars, *v)
	}
	return &t, nil
}

// SameMaps reports whether two schemas have the same decompositions.
func SameMaps(a, b *Schema) error {
	if len(a.Decomps) != len(b.Decomps) {
		return fmt.Errorf("%d decompositions, there %d", len(b.Decomps), len(a.Decomps))
	}
	for d := range a.Decomps {
		if x, y := a.DecompDims(DecompID(d+1)), b.DecompDims(DecompID(d+1)); !slices.Equal(x, y) {
			return fmt.Errorf("decomposition D%d is over %v, there %v", d+1, y, x)
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

// CanFollow reports whether a set of subfiles can hold further records of a
// dataset: what it has of it is the same.
func (s *Schema) CanFollow(set *Schema) error {
	if err := SameMaps(s, set); err != nil {
		return err
	}
	for v := range set.Vars {
		y := &set.Vars[v]
		k, ok := s.VarID(y.Name)
		if !ok {
			continue
		}
		x := &s.Vars[k]
		if x.Type != y.Type || x.Decomp != y.Decomp || x.Record != y.Record || !slices.Equal(s.Shape(k), set.Shape(VarID(v))) {
			return fmt.Errorf("variable %q is %v%v of D%d there, %v%v of D%d here", y.Name, x.Type, s.dimNames(x), x.Decomp, y.Type, set.dimNames(y), y.Decomp)
		}
	}
	return nil
}
