package dataset

import (
	"fmt"
	"slices"

	"blobio/cdf5"
)

// normalAtts returns the attributes with their names in Unicode normal form.
func normalAtts(atts []cdf5.Att) []cdf5.Att {
	same := true
	for i := range atts {
		same = same && cdf5.NormalName(atts[i].Name) == atts[i].Name
	}
	if same {
		return atts
	}
	atts = slices.Clone(atts)
	for i := range atts {
		atts[i].Name = cdf5.NormalName(atts[i].Name)
	}
	return atts
}

// normalDims returns the dimensions with their names in Unicode normal form.
func normalDims(dims []cdf5.Dim) []cdf5.Dim {
	dims = slices.Clone(dims)
	for i := range dims {
		dims[i].Name = cdf5.NormalName(dims[i].Name)
	}
	return dims
}

// distinct renames duplicates: the n-th "a" becomes "a_n", or the next free name. The first "a" keeps its name, as in the
// netCDF libraries, and the others stay accessible. distinct copies a list before it changes it.
func distinct[T any](list []T, name func(*T) *string) []T {
	seen := make(map[string]bool, len(list))
	var again []int
	for i := range list {
		if n := *name(&list[i]); seen[n] {
			again = append(again, i)
		} else {
			seen[n] = true
		}
	}
	if len(again) == 0 {
		return list
	}
	list = slices.Clone(list)
	next := map[string]int{}
	for _, i := range again {
		n := name(&list[i])
		base := *n
		for k := max(next[base], 2); ; k++ {
			if *n = fmt.Sprintf("%s_%d", base, k); !seen[*n] {
				next[base] = k + 1
				break
			}
		}
		seen[*n] = true
	}
	return list
}

func distinctAtts(atts []cdf5.Att) []cdf5.Att {
	return distinct(normalAtts(atts), func(a *cdf5.Att) *string { return &a.Name })
}

// SetAtt is blob.Schema.SetAtt.
func (s *Schema) SetAtt(v VarID, a cdf5.Att) {
	a.Name = cdf5.NormalName(a.Name)
	list := &s.Atts
	s.check(s.Extends.newAtt(v, a.Name))
	switch {
	case v == -1:
	case v < 0 || int(v) >= len(s.Vars):
		s.fail("attribute %q of variable id %d, want -1..%d", a.Name, v, len(s.Vars)-1)
		return
	default:
		list = &s.Vars[v].Atts
	}
	if old := cdf5.FindAtt(*list, a.Name); old != nil {
		*old = a
		return
	}
	*list = append(*list, a)
}
