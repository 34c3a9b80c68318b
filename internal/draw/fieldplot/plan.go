package fieldplot

import (
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/view/cf"
	"blobio/internal/view/cftime"
)

// A plan determines a picture: its kind, its dimensions, and one element of each other dimension.
type plan struct {
	array
	scale
	kind Kind
	site *site    // for a map
	x, y string   // dimensions of a section or a line
	over []string // dimensions of a histogram
}

// array is the variable of a picture.
type array struct {
	data *Data
	v    *blob.Variable
	dims []dim
	mean *cf.Meaning // meaning of the stored numbers
}

// scale determines how the values of an array appear: as text, as colours, along an axis.
type scale struct {
	of    *array
	o     *Options
	log   bool          // logarithmic
	times *cftime.Units // units of times; nil: not times
	note  string        // remark about positions
	notes []string      // remarks about values
}

// newPlan examines the variable and chooses the kind. places allows a map.
func newPlan(data *Data, o *Options, places bool) (*plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := data.Reader.Schema()
	id, ok := s.VarID(o.Var)
	if !ok {
		return nil, fault.Usage("%s has no variable %q", data.Reader.Base(), o.Var)
	}
	p := &plan{array: array{data: data, v: &s.Vars()[id]}, kind: o.Kind}
	p.scale = scale{of: &p.array, o: o, log: o.Log}
	if p.v.Type == cdf5.Char {
		return nil, fault.Usage("%s holds text, not numbers", o.Var)
	}
	p.mean = cf.MeaningOf(p.v)
	p.times, _ = cf.TimeOf(s, p.v)
	p.remark(cf.Remarks(s, p.v))
	var err error
	if p.dims, err = dimsOf(data.Reader, p.v, o); err != nil {
		return nil, err
	}
	if len(p.long()) == 0 {
		return nil, fault.Usage("%s is a single number, which cannot be drawn", o.Var)
	}
	if places {
		switch {
		case o.Generated:
			if p.site = madeSite(s, p.dims); p.site == nil {
				return nil, fault.Usage("coordinates of %s cannot be generated: want a dimension ncol of length 54 ne^2 + 2, or nCells, nEdges and nVertices with the lengths of a generated mesh", o.Var)
			}
		case o.Coords != nil:
			p.site = findSite(o.Coords, p.dims, p.v)
		}
		if p.site == nil {
			p.site = findSite(data, p.dims, p.v)
		}
	}
	for _, name := range []string{o.X, o.Y} {
		if name != "" && p.dim(name) == nil {
			return nil, fault.Usage("%s has no dimension %q", o.Var, name)
		}
	}
	if o.X != "" && o.X == o.Y {
		return nil, fault.Usage("both axes are along %s, want two dimensions", o.X)
	}
	if p.kind == Auto {
		p.kind = p.suits()
	}
	switch p.kind {
	case Map:
		if p.site == nil {
			return nil, fault.Usage("%s has no coordinates: no latitudes and longitudes along its dimensions", o.Var)
		}
	case Section:
		err = p.section()
	case Line:
		p.x = o.X
		if p.x == "" {
			p.x = longest(p.ordered())
		}
	case Histogram:
		p.histogram()
	}
	return p, err
}

func (a *array) dim(name string) *dim {
	for i := range a.dims {
		if a.dims[i].name == name {
			return &a.dims[i]
		}
	}
	return nil
}

// long returns the dimensions with several elements.
func (a *array) long() (out []dim) {
	for _, d := range a.dims {
		if d.n > 1 {
			out = append(out, d)
		}
	}
	return out
}

// ordered returns the long dimensions along which neighbours are related, or all long dimensions if
// there are none.
func (p *plan) ordered() (out []dim) {
	const few = 400
	s := p.data.Reader.Schema()
	for _, d := range p.long() {
		if p.site != nil && !p.site.axes && slices.Contains(p.site.dims, d.name) {
			continue
		}
		_, own := s.VarID(d.name)
		if d.record || own || axisNames[d.name] != nil || d.n <= few {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return p.long()
	}
	return out
}

// longest returns the name of the longest dimension, but prefers the record dimension.
func longest(list []dim) string {
	best := list[0]
	for _, d := range list[1:] {
		if d.n > best.n && !best.record {
			best = d
		}
	}
	return best.name
}

// suits returns the kind of picture for a variable.
func (p *plan) suits() Kind {
	switch {
	case p.o.X != "" && p.o.Y != "":
		return Section
	case p.o.X != "":
		return Line
	case p.site != nil:
		return Map
	}
	long, ordered := p.long(), p.ordered()
	for _, d := range long {
		if !slices.ContainsFunc(ordered, func(o dim) bool { return o.name == d.name }) || d.n > 400 && !d.record && !p.hasAxis(d) {
			return Histogram
		}
	}
	const least = 4 // minimum side of a section
	if len(long) > 1 && long[len(long)-1].n >= least && long[len(long)-2].n >= least {
		return Section
	}
	return Line
}

// hasAxis reports whether a dimension has a coordinate variable.
func (p *plan) hasAxis(d dim) bool {
	_, own := p.data.Reader.Schema().VarID(d.name)
	return own || axisNames[d.name] != nil
}

// section chooses the two dimensions.
func (p *plan) section() error {
	long := p.long()
	if len(long) < 2 {
		return fault.Usage("a section of %s needs two dimensions of several elements", p.o.Var)
	}
	p.x, p.y = p.o.X, p.o.Y
	if p.y == "" { // levels, or else a dimension without positions, or else the slowest dimension
		var rest []dim
		for _, d := range long {
			if d.name != p.x {
				rest = append(rest, d)
			}
		}
		i := slices.IndexFunc(rest, func(d dim) bool { return strings.Contains(strings.ToLower(d.name), "lev") })
		if i < 0 {
			i = slices.IndexFunc(rest, func(d dim) bool { return p.site == nil || !slices.Contains(p.site.dims, d.name) })
		}
		p.y = rest[max(i, 0)].name
	}
	if p.x == "" { // a dimension of positions, or else the fastest dimension
		for _, d := range long {
			if d.name != p.y && (p.x == "" || !slices.Contains(p.placeDims(), p.x)) {
				p.x = d.name
			}
		}
	}
	if p.dim(p.x).n < 2 || p.dim(p.y).n < 2 {
		return fault.Usage("section along %s and %s: one dimension has only one element", p.x, p.y)
	}
	return nil
}

func (p *plan) placeDims() []string {
	if p.site == nil {
		return nil
	}
	return p.site.dims
}

// histogram chooses the dimensions over which values are counted: positions, or else the longest one.
func (p *plan) histogram() {
	switch {
	case p.o.X != "":
		p.over = []string{p.o.X}
	case p.site != nil:
		p.over = p.site.dims
	default:
		best := p.long()[0]
		for _, d := range p.long() {
			if !d.record && (best.record || d.n > best.n) {
				best = d
			}
		}
		p.over = []string{best.name}
	}
}

// fixed reports whether the picture shows only one element of a dimension.
func (p *plan) fixed(d dim) bool {
	switch p.kind {
	case Map:
		return !slices.Contains(p.site.dims, d.name)
	case Histogram:
		return !slices.Contains(p.over, d.name)
	}
	return d.name != p.x && d.name != p.y
}
