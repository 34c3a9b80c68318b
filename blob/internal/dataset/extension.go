package dataset

import (
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Extension is the existing dataset that a schema extends with new dimensions and variables.
type Extension struct {
	Files *Schema  // schema of the files of the dataset
	Fixed []string // names of the dataset's variables that are not in Files
}

func (x *Extension) newDim(s *Schema, name string, n int64) error {
	switch {
	case n == Unlimited:
		return fault.Usage("dimension %q: an existing dataset cannot get a new unlimited dimension", name)
	case slices.ContainsFunc(s.Dims, func(d cdf5.Dim) bool { return d.Name == name }):
		return fault.Usage("dimension %q already exists", name)
	}
	return nil
}

func (x *Extension) newVar(s *Schema, v *Variable) error {
	if !v.Record {
		return fault.Usage("variable %q has no records, but an append can add only variables with records", v.Name)
	}
	if _, ok := s.VarID(v.Name); ok || slices.Contains(x.Fixed, v.Name) {
		return fault.Usage("variable %q already exists", v.Name)
	}
	return nil
}

// newAtt checks a new attribute of a variable, or of the dataset if v is -1. x is nil for a new dataset.
func (x *Extension) newAtt(v VarID, name string) error {
	if x != nil && int(v) < len(x.Files.Vars) {
		return fault.Usage("attribute %q belongs to existing data; use Writer.SetAtt", name)
	}
	if v >= 0 {
		return layoutAtt(name)
	}
	return nil
}

// layoutAtt rejects an attribute of a variable if the layouts use its name, because a reader would misinterpret it.
func layoutAtt(name string) error {
	if name == AttDecompID || name == AttDimIDs {
		return fault.Usage("attribute %q of a variable: the layout reserves this name", name)
	}
	return nil
}

// CheckExtension checks s as an extension without reading the dataset, and returns the first error.
func CheckExtension(s *Schema) error {
	switch {
	case s.Err != nil:
		return s.Err
	case s.Extends == nil:
		return fault.Usage("append: the schema does not come from Reader.Extend")
	}
	vars := s.Vars[len(s.Extends.Files.Vars):]
	for d := len(s.Extends.Files.Dims); d < len(s.Dims); d++ {
		if !slices.ContainsFunc(vars, func(v Variable) bool { return slices.Contains(v.Dims, DimID(d)) }) {
			return fault.Usage("append: no new variable uses the new dimension %q", s.Dims[d].Name)
		}
	}
	return nil
}

// Extended returns a dataset's schema s with the additions of by, and the names of the new variables. by has passed
// CheckExtension.
func Extended(s, by *Schema) (*Schema, []string, error) {
	files := by.Extends.Files
	if d := s.Differ(files, true, false); len(d) > 0 || SameMaps(s, files) != nil {
		return nil, nil, fault.Usage("append: the schema does not extend the current schema of the dataset")
	}
	vars := by.Vars[len(files.Vars):]
	t := *s
	t.Dims, t.Vars = by.Dims, slices.Concat(s.Vars, vars)
	var names []string
	for i := range vars {
		names = append(names, vars[i].Name)
	}
	return &t, names, nil
}
