package e3smcases

import (
	"fmt"
	"iter"
	"math"
	"strings"

	"blobio/cdf5"
	"blobio/decomp"
)

// kind is a class of similar fields.
type kind uint8

const (
	anything kind = iota
	airTemperature
	seaTemperature
	salinity
	eastWind
	wind
	rain
	pressure
	flux
	fraction
	mixing
	amount
	thickness
	mask
	latitude
	longitude
)

// rules determine the kind of a variable; the first match counts. An empty word matches all, a name that ends in * is a prefix,
// and long is a part of long_name.
var rules = []struct {
	name, units, long string
	kind              kind
}{
	{"lat", "degrees_north", "", latitude},
	{"lon", "degrees_east", "", longitude},
	{"PREC*", "", "", rain},
	{"", "", "precipitation", rain},
	{"RAIN", "", "", rain},
	{"SNOW", "", "", rain},
	{"", "", "rain ", rain},
	{"U*", "m/s", "", eastWind},
	{"velocityZonal", "", "", eastWind},
	{"", "m/s", "", wind},
	{"", "Pa/s", "", wind},
	{"", "m s^{-1}", "", wind},
	{"temperature", "", "", seaTemperature},
	{"salinity", "", "", salinity},
	{"", "K", "", airTemperature},
	{"", "Pa", "", pressure},
	{"pressure", "", "", pressure},
	{"", "W/m2", "", flux},
	{"", "W/m^2", "", flux},
	{"layerThickness", "", "", thickness},
	{"", "kg/kg", "", mixing},
	{"", "mol/mol", "", mixing},
	{"*Mask", "", "", mask},
	{"maxLevel*", "", "", mask},
	{"landmask", "", "", mask},
	{"pftmask", "", "", mask},
	{"", "fraction", "", fraction},
	{"", "1", "", fraction},
	{"", "proportion", "", fraction},
	{"", "", "fraction", fraction},
	{"", "m-3", "", amount},
	{"", "1/kg", "", amount},
	{"", "1/m3", "", amount},
	{"", "kg/m2", "", amount},
	{"", "gC/m^2", "", amount},
	{"", "gN/m^2", "", amount},
	{"", "mm", "", amount},
}

func classify(v *Var) kind {
	var units, long string
	for _, a := range v.Atts {
		if s, ok := a.Value.(string); ok {
			switch a.Name {
			case "units":
				units = strings.TrimSpace(s)
			case "long_name":
				long = strings.ToLower(s)
			}
		}
	}
	for _, r := range rules {
		if (r.units == "" || r.units == units) && strings.Contains(long, r.long) && nameFits(r.name, v.Name) {
			return r.kind
		}
	}
	return anything
}

func nameFits(rule, name string) bool {
	switch {
	case rule == "":
		return true
	case rule[0] == '*':
		return strings.HasSuffix(name, rule[1:])
	case rule[len(rule)-1] == '*':
		return strings.HasPrefix(name, rule[:len(rule)-1])
	}
	return rule == name
}

// fields makes the smooth values of a case.
type fields struct {
	c     *Case
	g     *geometry
	kinds []kind
	ocean bool // levels are depths in an ocean with a bottom; otherwise levels of air or soil
}

func newFields(c *Case, g *geometry) *fields {
	f := &fields{c: c, g: g, kinds: make([]kind, len(c.Vars)), ocean: c.component() == 'G'}
	for i := range c.Vars {
		f.kinds[i] = classify(&c.Vars[i])
	}
	return f
}

// field holds the values of one variable in one record that do not depend on the position.
type field struct {
	kind     kind
	a, b, c  float64 // weights of the three waves
	scale    float64 // a positive factor of the variable
	fill     float64
	night    bool      // has fill values at night
	depth    []float64 // by level, 0 at the top to 1
	decay    []float64 // by level, 1 at the surface to nearly 0
	bottoms  bool      // the ocean floor hides deep levels
	integers bool
}

// oceanFill is MPAS-Ocean's value below the ocean floor.
const oceanFill = -1e34

func (f *fields) field(v int, rec int64, levels int64) field {
	va := &f.c.Vars[v]
	h := newStream(va.Name, 0)
	phase := float64(h.at(0)>>40) / (1 << 24) * 2 * math.Pi
	t := phase + 0.7*float64(rec)
	d := field{kind: f.kinds[v], a: math.Cos(t), b: math.Sin(t), c: 0.5,
		scale:    math.Pow(10, float64(int64(h.at(1)>>33)%5)-2),
		integers: va.Type == cdf5.Int || va.Type == cdf5.Int64,
		bottoms:  f.ocean && levels > 1,
		fill:     oceanFill}
	for _, a := range va.Atts {
		if a.Name == "_FillValue" && strings.HasPrefix(va.Name, "AOD") {
			if x, ok := a.Value.([]float64); ok {
				d.night, d.fill = true, x[0]
			}
		}
	}
	for l := range levels {
		s := (float64(l) + 0.5) / float64(levels)
		d.depth = append(d.depth, s)
		if f.ocean || f.c.component() == 'I' {
			d.decay = append(d.decay, math.Exp(-5*s))
		} else {
			d.decay = append(d.decay, s) // the last level is at the surface
		}
	}
	if levels == 1 {
		d.depth[0], d.decay[0] = 0, 1
	}
	return d
}

// at returns the value at a point and level.
func (d *field) at(p *point, level int64) float64 {
	w := d.a*float64(p.w0) + d.b*float64(p.w1) + d.c*float64(p.w2)
	sin2, near := float64(p.sin2), d.decay[level]
	if d.bottoms {
		// the ocean floor falls from the coast to the deepest level, which it reaches 8 degrees from the coast
		if d.depth[level] > min(1, 0.1+math.Max(0, -float64(p.coast))/8) {
			if d.integers {
				return 0
			}
			return d.fill
		}
	}
	if d.night && w < -0.8 {
		return d.fill
	}
	switch d.kind {
	case latitude:
		return float64(p.lat)
	case longitude:
		return float64(p.lon)
	case airTemperature:
		return 205 + (96-52*sin2+5*w)*near
	case seaTemperature:
		return -1 + (30-29*sin2+1.5*w)*near
	case salinity:
		return 34.6 + (1.4-3*sin2+0.4*w)*near
	case eastWind:
		return 110*sin2*(1-sin2)*(1.15-near) + 6*w
	case wind:
		return 4 * w * (0.3 + near)
	case rain:
		return math.Max(0, w-0.15) * (1.2 - sin2) * 6e-8
	case pressure:
		return 98500 + 1800*w - 2500*math.Max(0, math.Min(1, float64(p.coast)/10))
	case flux:
		return math.Max(0, 300-230*sin2+60*w)
	case fraction:
		return math.Min(1, math.Max(0, 0.45+0.6*w))
	case mixing:
		return 0.018 * (1 - sin2) * (1 - sin2) * near * near * (1 + 0.4*w) * min(1, d.scale)
	case amount:
		return math.Max(0, 1+w) * (1 - 0.6*sin2) * near * d.scale * 1e3
	case thickness:
		return 5 + 200*d.depth[level] + 0.5*w
	case mask:
		return 1
	}
	return d.scale * (w + 0.3*(1-sin2)) * near
}

// fill sets dst to the values at runs. It returns the number of elements of runs, or -1 if dst is too short.
func (f *fields) fill(dst any, v int, rec int64, runs iter.Seq[decomp.Req], t cdf5.Type) (int, error) {
	switch d := dst.(type) {
	case []byte:
		return fillText(d, f.text(v, rec), runs), nil
	case []int32:
		return fillSmooth(f, d, v, rec, runs, t)
	case []int64:
		return fillSmooth(f, d, v, rec, runs, t)
	case []float32:
		return fillSmooth(f, d, v, rec, runs, t)
	case []float64:
		return fillSmooth(f, d, v, rec, runs, t)
	}
	return 0, fmt.Errorf("variable %s: unsupported memory type %T", f.c.Vars[v].Name, dst)
}

func fillSmooth[T int32 | int64 | float32 | float64](f *fields, dst []T, v int, rec int64, runs iter.Seq[decomp.Req], t cdf5.Type) (int, error) {
	m := f.c.Vars[v].Map
	var p *place
	var pts []point
	var d field
	if m > 0 {
		p = &f.g.places[m-1]
		pts = p.get()
		d = f.field(v, rec, p.levels)
	}
	pos := 0
	for q := range runs {
		if q.Length > int64(len(dst)-pos) {
			return -1, nil
		}
		if p != nil && (q.Offset < 0 || q.Offset+q.Length > p.n*p.levels) {
			return 0, fmt.Errorf("variable %s: elements %d to %d exceed map D%d, which has %d elements",
				f.c.Vars[v].Name, q.Offset, q.Offset+q.Length-1, m, p.n*p.levels)
		}
		for i := q.Offset; i < q.Offset+q.Length; i++ {
			x := 0.0
			if p == nil {
				x = f.axis(v, rec, i)
			} else {
				at, level := p.split(i)
				x = d.at(&pts[at], level)
			}
			switch {
			case t == cdf5.Float:
				x = float64(float32(x))
			case t != cdf5.Double:
				x = math.Round(x)
			}
			dst[pos] = T(x)
			pos++
		}
	}
	return pos, nil
}

// axis returns a value of a variable that is not decomposed. Coordinates go from their first to their last value, times count
// records, and others are constant.
func (f *fields) axis(v int, rec, i int64) float64 {
	va := &f.c.Vars[v]
	n := f.c.Elems(v)
	s := (float64(i) + 0.5) / float64(n)
	switch name := va.Name; {
	case va.Record && (strings.Contains(name, "time") || name == "ndcur" || name == "mdcur"):
		return float64(rec) + float64(i)*boolTo(n > 1)
	case name == "date" || name == "mcdate":
		return 10101 + float64(rec)
	case name == "nsteph" || name == "nstep":
		return 48 * float64(rec+1)
	case name == "P0":
		return 100000
	case name == "lat":
		return -90 + 180*float64(i)/math.Max(1, float64(n-1))
	case name == "lon":
		return 360 * float64(i) / float64(n)
	case name == "lev" || name == "ilev":
		return 1000 * s
	case strings.HasPrefix(name, "hya"):
		return 0.2 * s * (1 - s)
	case strings.HasPrefix(name, "hyb"):
		return s * s
	case strings.HasPrefix(name, "lev"):
		return 0.01 * math.Exp(8*s)
	case name == "refZMid":
		return -5500 * s * s
	case name == "refBottomDepth":
		return 5500 * s * s
	case name == "refLayerThickness":
		return 11000 * s / float64(n)
	case va.Type == cdf5.Int:
		return float64(rec)
	}
	return 1
}

func boolTo(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// text returns a date or a time of day, padded with zero bytes.
func (f *fields) text(v int, rec int64) []byte {
	day, second := rec%28+1, rec*1800%86400
	var s string
	switch name := f.c.Vars[v].Name; {
	case name == "xtime":
		s = fmt.Sprintf("0001-01-%02d_%02d:%02d:%02d", day, second/3600, second/60%60, second%60)
	case strings.HasPrefix(name, "date"):
		s = fmt.Sprintf("01/%02d/01", day)
	default:
		s = fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
	}
	b := make([]byte, f.c.Elems(v))
	copy(b, s)
	return b
}

func fillText(dst, text []byte, runs iter.Seq[decomp.Req]) int {
	pos := 0
	for q := range runs {
		if q.Length > int64(len(dst)-pos) {
			return -1
		}
		for i := q.Offset; i < q.Offset+q.Length; i++ {
			dst[pos] = 0
			if i >= 0 && i < int64(len(text)) {
				dst[pos] = text[i]
			}
			pos++
		}
	}
	return pos
}
