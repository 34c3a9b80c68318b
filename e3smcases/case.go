package e3smcases

import (
	"fmt"
	"math"
	"slices"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// Case is the contents of one history file. It is shared between callers and
// must not be changed; WithMapDims makes an adapted copy.
type Case struct {
	Name    string
	Dims    []cdf5.Dim // a dimension with Len 0 is unlimited, and comes first
	Atts    []cdf5.Att // global attributes
	Vars    []Var      // fixed variables come before record variables
	MapDims [][]int    // MapDims[k-1] are the ids of the dimensions that map Dk decomposes, slowest first

	plus []dimPlus
}

// dimPlus declares that the length of a dimension is the length of another dimension plus a constant (ilev = lev + 1).
type dimPlus struct {
	dim, base int
	add       int64
}

// Var is one variable of a case.
type Var struct {
	Name      string
	Type      cdf5.Type  // type in the file by default
	TypeFloat cdf5.Type  // type in the file with the float setting; the type in memory is always Type
	Dims      []int      // ids in Case.Dims, slowest first, including the record dimension
	Record    bool       // Dims[0] is the unlimited dimension
	Map       int        // number of the decomposition map, 1-based; 0: not decomposed
	Atts      []cdf5.Att // attributes for Type
	AttsFloat []cdf5.Att // attributes for TypeFloat; only _FillValue differs from Atts
}

// FileType returns the type and attributes of v in the file; float is the float setting.
func (v *Var) FileType(float bool) (cdf5.Type, []cdf5.Att) {
	if float {
		return v.TypeFloat, v.AttsFloat
	}
	return v.Type, v.Atts
}

// component returns F, G or I, or 0 for a case without a name.
func (c *Case) component() byte {
	if c.Name == "" {
		return 0
	}
	return c.Name[0]
}

// VarIndex returns the position of the named variable, or -1.
func (c *Case) VarIndex(name string) int {
	return slices.IndexFunc(c.Vars, func(v Var) bool { return v.Name == name })
}

// DimIndex returns the id of the named dimension, or -1.
func (c *Case) DimIndex(name string) int {
	return slices.IndexFunc(c.Dims, func(d cdf5.Dim) bool { return d.Name == name })
}

// Shape returns the lengths of the dimensions of variable v in elements,
// slowest first, without the record dimension.
func (c *Case) Shape(v int) []int64 {
	var s []int64
	for i, d := range c.Vars[v].Dims {
		if i == 0 && c.Vars[v].Record {
			continue
		}
		s = append(s, c.Dims[d].Len)
	}
	return s
}

// Elems returns the number of elements of variable v, or of one of its records.
func (c *Case) Elems(v int) int64 {
	n := int64(1)
	for _, l := range c.Shape(v) {
		n *= l
	}
	return n
}

// Extents returns the lengths of the dimensions that map Dk (1-based) decomposes.
func (c *Case) Extents(k int) []int64 {
	s := make([]int64, len(c.MapDims[k-1]))
	for i, d := range c.MapDims[k-1] {
		s[i] = c.Dims[d].Len
	}
	return s
}

// WithMapDims returns a copy of c whose dimensions have the lengths of maps, which are D1, D2 and so on. Dependent dimensions are
// adapted, too: ilev is lev + 1, and levdcmp equals levgrnd, because D2 decomposes both. The error reports a wrong number of
// maps, a wrong number of dimensions in a map, or two maps that disagree about a dimension.
func (c *Case) WithMapDims(maps []*decomp.Map) (*Case, error) {
	if len(maps) != len(c.MapDims) {
		return nil, fmt.Errorf("case %s has %d maps, want %d", c.Name, len(maps), len(c.MapDims))
	}
	n := *c
	n.Dims = slices.Clone(c.Dims)
	from := make([]string, len(n.Dims)) // source of each length, for errors
	set := func(dim int, l int64, by string) error {
		if from[dim] != "" && n.Dims[dim].Len != l {
			return fmt.Errorf("case %s: dimension %s has length %d according to %s, but %d according to %s",
				c.Name, n.Dims[dim].Name, n.Dims[dim].Len, from[dim], l, by)
		}
		n.Dims[dim].Len, from[dim] = l, by
		return nil
	}
	for k, m := range maps {
		ids, ext := c.MapDims[k], m.Dims()
		if len(ids) != len(ext) {
			return nil, fmt.Errorf("case %s: map D%d has %d dimensions, want %d", c.Name, k+1, len(ext), len(ids))
		}
		for i, d := range ids {
			if ext[i] < 1 {
				return nil, fmt.Errorf("case %s: map D%d dimension %d has length %d, want > 0", c.Name, k+1, i, ext[i])
			}
			if err := set(d, ext[i], fmt.Sprintf("map D%d", k+1)); err != nil {
				return nil, err
			}
		}
	}
	// Variables may name another dimension with the same role (levdcmp for levgrnd).
	for i := range c.Vars {
		v := &c.Vars[i]
		if v.Map == 0 {
			continue
		}
		ext := maps[v.Map-1].Dims()
		own := v.Dims[len(v.Dims)-len(ext):]
		for j, d := range own {
			if err := set(d, ext[j], fmt.Sprintf("map D%d of variable %s", v.Map, v.Name)); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range c.plus {
		if err := set(p.dim, n.Dims[p.base].Len+p.add, "dimension "+n.Dims[p.base].Name); err != nil {
			return nil, err
		}
	}
	return &n, nil
}

// Maps makes the maps of c for the ranks of a dataset with dimensions dims, as F, G and I do. The error is ErrMapMismatch if a
// required dimension is missing or has an impossible length. Other dimensions are ignored.
func (c *Case) Maps(dims []cdf5.Dim, ranks int) ([]*decomp.Map, error) {
	bad := func(format string, args ...any) error {
		return fault.Class(fault.ErrMapMismatch, "case %s: %s", c.Name, fmt.Sprintf(format, args...))
	}
	sizes := func(k int) (n []int, err error) { // lengths for map Dk
		for _, d := range c.MapDims[k-1] {
			name := c.Dims[d].Name
			at := slices.IndexFunc(dims, func(d cdf5.Dim) bool { return d.Name == name })
			if at < 0 {
				return nil, bad("the dataset lacks dimension %q, which map D%d requires", name, k)
			}
			l := dims[at].Len
			if l < 1 || l > math.MaxInt32 {
				return nil, bad("dimension %q has invalid length %d", name, l)
			}
			n = append(n, int(l))
		}
		return n, nil
	}
	switch c.component() {
	case 'F': // D3 is lev x ncol
		n, err := sizes(3)
		if err != nil {
			return nil, err
		}
		ne, ok := sideOf(int64(n[1]))
		if !ok {
			return nil, bad("%d columns do not form a cubed sphere, want 54 ne^2 + 2", n[1])
		}
		return F{Ne: ne, Levels: n[0], Ranks: ranks}.Maps()
	case 'G': // D3 is nCells x nVertLevels
		n, err := sizes(3)
		if err != nil {
			return nil, err
		}
		return G{Cells: n[0], Levels: n[1], Ranks: ranks}.Maps()
	case 'I': // D1 is lat x lon; D2 to D5 have levels before lat
		n, err := sizes(1)
		if err != nil {
			return nil, err
		}
		i := I{Lat: n[0], Lon: n[1], Ranks: ranks}
		for k := range len(c.MapDims) - 1 {
			if n, err = sizes(k + 2); err != nil {
				return nil, err
			}
			i.Levels = append(i.Levels, n[0])
		}
		return i.Maps()
	}
	return nil, bad("blobio cannot make maps for this case")
}
