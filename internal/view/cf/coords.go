package cf

import (
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
)

// naming are the attributes that name other variables. Some of these attributes, such as cell_measures, have a word with a colon
// before each name.
var naming = []string{"coordinates", "bounds", "climatology", "ancillary_variables", "grid_mapping", "cell_measures", "formula_terms"}

// Text returns a text attribute without trailing zeros, or "".
func Text(atts []cdf5.Att, name string) string {
	if a := cdf5.FindAtt(atts, name); a != nil {
		if s, ok := a.Value.(string); ok {
			return strings.TrimRight(s, "\x00")
		}
	}
	return ""
}

// WithCoordinates returns the variables and all variables related to them, in schema order. Related are the coordinate variable
// of each dimension, and the variables named by CF attributes. For unstructured grids, latitudes and longitudes (by units) along
// the variable's dimensions are related too. Relations are followed transitively. Names of nonexistent variables are left out.
func WithCoordinates(s *blob.Schema, names []string) []string {
	vars := s.Vars()
	want := make([]bool, len(vars))
	var open []int
	add := func(name string) {
		if v, ok := s.VarID(name); ok && !want[v] {
			want[v] = true
			open = append(open, int(v))
		}
	}
	for _, name := range names {
		add(name)
	}
	for len(open) > 0 {
		v := &vars[open[0]]
		open = open[1:]
		for _, d := range v.Dims {
			add(s.Dims()[d].Name)
		}
		for _, att := range naming {
			for word := range strings.FieldsSeq(Text(v.Atts, att)) {
				if !strings.HasSuffix(word, ":") {
					add(word)
				}
			}
		}
		for i := range vars {
			if dims := vars[i].Dims; isPosition(&vars[i]) && len(dims) > 0 && !slices.ContainsFunc(dims, func(d blob.DimID) bool { return !slices.Contains(v.Dims, d) }) {
				add(vars[i].Name)
			}
		}
	}
	var out []string
	for i := range vars {
		if want[i] {
			out = append(out, vars[i].Name)
		}
	}
	return out
}

func isPosition(v *blob.Variable) bool {
	units := Text(v.Atts, "units")
	return IsLatitude(units) || IsLongitude(units)
}

// IsLatitude reports whether units are degrees north, in any spelling that the conventions allow.
func IsLatitude(units string) bool { return isDegrees(units, "north", "N") }

// IsLongitude reports whether units are degrees east.
func IsLongitude(units string) bool { return isDegrees(units, "east", "E") }

func isDegrees(units, word, letter string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(units), "degree")
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "s"), "_")
	return rest == word || rest == letter
}
