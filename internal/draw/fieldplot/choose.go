package fieldplot

import (
	"context"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
	"blobio/internal/view/cf"
)

// Select converts args to Options.At. Each arg selects one element of a dimension, by index or by coordinate.
func Select(ctx context.Context, data *Data, name string, args []slab.Arg) (map[string]int64, error) {
	p, err := newPlan(data, &Options{Var: name}, true)
	if err != nil {
		return nil, err
	}
	var dims []slab.Dim
	for _, d := range p.dims {
		dims = append(dims, slab.Dim{Name: d.name, Len: d.n})
	}
	coord := func(name string) (*slab.Axis, error) {
		for _, d := range p.dims {
			if d.name != name {
				continue
			}
			a, err := axisOf(ctx, data, d)
			if err != nil {
				return nil, err
			}
			return cf.Axis(ctx, data.Reader, a.name)
		}
		return nil, nil
	}
	out := map[string]int64{}
	x, err := slab.Resolve(args, dims, coord)
	if err != nil {
		return nil, err
	}
	for name, take := range x {
		if take.Len() != 1 {
			return nil, fault.Usage("dimension %s has %[2]d elements selected, want 1 for a picture", name, take.Len())
		}
		out[name] = take[0].First
	}
	return out, nil
}

// LevelDim returns the dimension of a variable's levels: a dimension with a vertical coordinate, or the only dimension that is
// neither record nor position. It returns "" if there is none.
func LevelDim(data *Data, name string) string {
	p, err := newPlan(data, &Options{Var: name}, true)
	if err != nil {
		return ""
	}
	best := ""
	for _, d := range p.dims {
		if d.record || slices.Contains(p.placeDims(), d.name) {
			continue
		}
		if best == "" || d.n > 1 && isLevel(d.name) {
			best = d.name
		}
	}
	return best
}

// isLevel reports whether a dimension is named like levels.
func isLevel(name string) bool {
	low := strings.ToLower(name)
	return strings.HasPrefix(low, "lev") || strings.HasPrefix(low, "ilev") || strings.HasPrefix(low, "nvertlev") || low == "depth" || low == "z"
}

// RecordDim returns the record dimension of a variable, or "".
func RecordDim(r *blob.Reader, name string) string {
	s := r.Schema()
	if id, ok := s.VarID(name); ok && s.Vars()[id].Record {
		return s.Dims()[s.Vars()[id].Dims[0]].Name
	}
	return ""
}

// Drawable lists the variables that can be drawn, which hold several numbers.
func Drawable(r *blob.Reader) (out []string) {
	s := r.Schema()
	for i, v := range s.Vars() {
		n := s.Elems(blob.VarID(i))
		if v.Record {
			n *= r.Records()
		}
		if v.Type != cdf5.Char && n > 1 {
			out = append(out, v.Name)
		}
	}
	return out
}

// First returns the variable that a viewer shows first. It prefers a variable with positions and records, then with positions,
// then with records, then any variable. "" means that there is no drawable variable.
func First(data *Data) string {
	s := data.Reader.Schema()
	best, rank := "", 0
	for _, name := range Drawable(data.Reader) {
		id, _ := s.VarID(name)
		v := &s.Vars()[id]
		r := 1
		p, err := newPlan(data, &Options{Var: name}, true)
		if err != nil {
			continue
		}
		if v.Record {
			r++
		}
		if p.site != nil {
			r += 2
		}
		if r > rank {
			best, rank = name, r
		}
		if r == 4 {
			break
		}
	}
	return best
}

// Check reports whether options suit a dataset, as far as possible without reading data.
func Check(data *Data, o *Options) error {
	_, err := newPlan(data, o, true)
	return err
}
