package blob

import (
	"blobio/internal/base/fault"
	"fmt"
	"slices"
)

func (s *Schema) hasDimName(name string) bool {
	for i := range s.dims {
		if s.dims[i].Name == name {
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
	if _, ok := s.VarID(v.Name); ok || slices.Contains(s.fixed, v.Name) {
		s.fail("variable %q: there is one of this name", v.Name)
	}
}

// checkLayoutAtt refuses an attribute of a variable that layouts write themselves: a reader would take it for theirs.
func (s *Schema) checkLayoutAtt(name string) {
	if name == attDecompID || name == attDimIDs {
		s.fail("attribute %q of a variable: the layout has one of this name", name)
	}
}

// checkNewAtt is of an attribute of a variable, or of the dataset if v is -1.
func (s *Schema) checkNewAtt(v VarID, name string) {
	if s.files != nil && int(v) < len(s.files.vars) {
		s.fail("attribute %q of what is in the files: Writer.SetAtt sets it", name)
	}
	if v >= 0 {
		s.checkLayoutAtt(name)
	}
}

// checkExtension says what is wrong with what is to be added to some dataset, before anybody looks at that.
func (s *Schema) checkExtension() error {
	switch {
	case s.err != nil:
		return s.err
	case s.files == nil:
		return fault.Usage("append: the schema is none of Reader.Extend")
	}
	vars := s.vars[len(s.files.vars):]
	for d := len(s.files.dims); d < len(s.dims); d++ {
		if !slices.ContainsFunc(vars, func(v Variable) bool { return slices.Contains(v.Dims, DimID(d)) }) {
			return fault.Usage("append: dimension %q is new, but no new variable has it", s.dims[d].Name)
		}
	}
	return nil
}

// extended is the schema of a dataset with what an extension adds that checkExtension finds right, and the names of the new variables.
func (s *Schema) extended(by *Schema) (*Schema, []string, error) {
	if d := s.differ(by.files, true, false); len(d) > 0 || sameMaps(s, by.files) != nil {
		return nil, nil, fault.Usage("append: the schema is an extension of another one than the dataset has now")
	}
	vars := by.vars[len(by.files.vars):]
	t := *s
	t.dims, t.vars = by.dims, slices.Concat(s.vars, vars)
	var names []string
	for i := range vars {
		names = append(names, vars[i].Name)
	}
	return &t, names, nil
}

// withAdded is the schema with variables that a later set of subfiles was the first to have, of whose files set is the schema.
func (s *Schema) withAdded(names []string, set *Schema) (*Schema, error) {
	if err := sameMaps(s, set); err != nil {
		return nil, err
	}
	t := *s
	t.dims, t.vars = slices.Clip(s.dims), slices.Clip(s.vars)
	for i, d := range set.dims {
		switch {
		case i < len(s.dims) && s.dims[i] != d:
			return nil, fmt.Errorf("dimension %d is %q of length %d, want %q of %d", i, d.Name, d.Len, s.dims[i].Name, s.dims[i].Len)
		case i >= len(s.dims):
			t.dims = append(t.dims, d)
		}
	}
	before, there := map[string]bool{}, map[string]*Variable{}
	for i := range s.vars {
		before[s.vars[i].Name] = true
	}
	for i := range set.vars {
		there[set.vars[i].Name] = &set.vars[i]
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
		t.vars = append(t.vars, *v)
	}
	return &t, nil
}

// sameMaps says whether two schemas have the same decompositions.
func sameMaps(a, b *Schema) error {
	if len(a.decomps) != len(b.decomps) {
		return fmt.Errorf("%d decompositions, there %d", len(b.decomps), len(a.decomps))
	}
	for d := range a.decomps {
		if x, y := a.DecompDims(DecompID(d+1)), b.DecompDims(DecompID(d+1)); !slices.Equal(x, y) {
			return fmt.Errorf("decomposition D%d is over %v, there %v", d+1, y, x)
		}
	}
	return nil
}

// recordsOnly returns the schema without its fixed variables.
func (s *Schema) recordsOnly() *Schema {
	t := *s
	t.vars = nil
	for i := range s.vars {
		if s.vars[i].Record {
			t.vars = append(t.vars, s.vars[i])
		}
	}
	return &t
}

// canFollow says whether a set of subfiles can hold further records of a
// dataset: what it has of it is the same.
func (s *Schema) canFollow(set *Schema) error {
	if err := sameMaps(s, set); err != nil {
		return err
	}
	for v := range set.vars {
		y := &set.vars[v]
		k, ok := s.VarID(y.Name)
		if !ok {
			continue
		}
		x := &s.vars[k]
		if x.Type != y.Type || x.Decomp != y.Decomp || x.Record != y.Record || !slices.Equal(s.Shape(k), set.Shape(VarID(v))) {
			return fmt.Errorf("variable %q is %v%v of D%d there, %v%v of D%d here", y.Name, x.Type, s.dimNames(x), x.Decomp, y.Type, set.dimNames(y), y.Decomp)
		}
	}
	return nil
}
