package fieldplot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
)

func numbers(list ...any) (out []cdf5.Att) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, cdf5.Att{Name: list[i].(string), Type: cdf5.Double, Value: []float64{list[i+1].(float64)}})
	}
	return out
}

func svg(t *testing.T, p *Picture) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPacked checks that each kind of picture shows unpacked values and coordinates, with units. With invalid packing attributes,
// stored numbers have no units.
func TestPacked(t *testing.T) {
	const n = 8
	var stored, bare []int16
	for i := range 6 * n {
		stored, bare = append(stored, int16(100*i)), append(bare, int16(i))
	}
	units, text := atts("units", "K"), atts("units", "K", "scale_factor", "0.01")
	d := dataset(t, 0, []cdf5.Dim{{Name: "lat", Len: 6}, {Name: "lon", Len: n}, {Name: "slat", Len: 6}, {Name: "lev", Len: 2}},
		column{name: "lat", dims: []string{"lat"}, atts: append(atts("units", "degrees_north"), numbers("scale_factor", 0.1)...), values: []int16{-750, -450, -150, 150, 450, 750}, t: cdf5.Short},
		column{name: "lon", dims: []string{"lon"}, atts: append(atts("units", "degrees_east"), numbers("scale_factor", 0.5, "add_offset", 180.)...),
			values: []int16{-360, -270, -180, -90, 0, 90, 180, 270}, t: cdf5.Short},
		column{name: "slat", dims: []string{"slat"}, atts: atts("units", "degrees_north", "scale_factor", "0.1"), values: []int16{-75, -45, -15, 15, 45, 75}, t: cdf5.Short},
		column{name: "T", dims: []string{"lat", "lon"}, atts: append(slices.Clone(units), numbers("scale_factor", 0.01, "add_offset", 273.15, "valid_max", 1000.)...), values: stored, t: cdf5.Short},
		column{name: "W", dims: []string{"lat", "lon"}, atts: text, values: bare, t: cdf5.Short},
		column{name: "S", dims: []string{"slat", "lon"}, atts: units, values: bare, t: cdf5.Short})
	for _, kind := range Kinds {
		p := draw(t, d, Options{Var: "T", Kind: kind, Width: 600})
		if p.Kind != kind {
			t.Errorf("%s, want %s", p.Kind, kind)
		}
		if text := svg(t, p); !strings.Contains(text, " K") || strings.Contains(text, "4700") {
			t.Errorf("%s says %q", kind, text[:300])
		}
		if kind == Histogram {
			continue
		}
		seen := map[State]int{}
		spots(p, func(_, _ float64, s *Spot) {
			at := map[string]int64{}
			for _, i := range s.Index {
				at[i.Dim] = i.At
			}
			if seen[s.State]++; s.State == Nothing {
				return
			}
			e := at["lat"]*n + at["lon"]
			if want := 273.15 + float64(e); e <= 726 && (s.State != Good || math.Abs(s.Value-want) > 1e-4 || s.Text != fmt.Sprintf("%.2f K", want)) {
				t.Fatalf("%s: element %v: %+v, want %v", kind, s.Index, s, want)
			}
		})
		if seen[Good] == 0 {
			t.Errorf("%s: %v", kind, seen)
		}
		s, ok, err := NewAtlas(0).Value(t.Context(), d, &Options{Var: "T", Kind: kind, Width: 600}, 300, 200)
		if err != nil || !ok || s.State == Good && !strings.HasSuffix(s.Text, " K") || s.State == Good && s.Value < 273 {
			t.Errorf("%s: %+v, %v, %v", kind, s, ok, err)
		}
		// stored numbers
		p = draw(t, d, Options{Var: "W", Kind: kind, Width: 600})
		if text := svg(t, p); strings.Contains(text, " K<") || strings.Contains(text, "(K)") || !strings.Contains(strings.Join(p.Notes, " "), "W: scale_factor is text") {
			t.Errorf("%s of stored numbers: notes %q", kind, p.Notes)
		}
	}
	if p := draw(t, d, Options{Var: "S"}); p.Kind == Map || !strings.Contains(strings.Join(p.Notes, " "), "slat: scale_factor is text") {
		t.Errorf("coordinates without a meaning: %s, %q", p.Kind, p.Notes)
	}
}

// TestLogarithm checks that a logarithmic scale ends at the smallest and largest value, and that there is no scale without
// values.
func TestLogarithm(t *testing.T) {
	lon, lat := sphere(40)
	values := func(f func(i int) float64) (v []float64) {
		for i := range 40 {
			v = append(v, f(i))
		}
		return v
	}
	places := []column{{name: "lat", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: lat}, {name: "lon", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: lon}}
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: 40}, {Name: "m", Len: 2}}, append(places,
		column{name: "minus", dims: []string{"n"}, values: values(func(i int) float64 { return float64(-70 + i) })},
		column{name: "zero", dims: []string{"n"}, values: values(func(i int) float64 { return 0 })},
		column{name: "some", dims: []string{"n"}, values: values(func(i int) float64 { return float64(i - 9) })},
		column{name: "nothing", dims: []string{"n"}, values: values(func(i int) float64 { return math.NaN() })})...)
	for name, want := range map[string]string{"minus": "No value is above 0", "zero": "No value is above 0", "some": "10 values not above 0", "nothing": ""} {
		for _, kind := range []Kind{Map, Line, Histogram} {
			p := draw(t, d, Options{Var: name, Kind: kind, Log: true, Width: 500})
			notes := strings.Join(p.Notes, "\n")
			if text := svg(t, p); !strings.Contains(notes, want) || want == "" && strings.Contains(notes, "above 0") || name == "nothing" && kind == Map && strings.Contains(text, ">1.2<") {
				t.Errorf("%s, %s: %q", name, kind, notes)
			}
			if name != "minus" {
				continue
			}
			if text := svg(t, p); !strings.Contains(text, "−40") || strings.Contains(text, ">1.2<") {
				t.Errorf("%s, %s: the scale is not that of the values", name, kind)
			}
		}
	}
}

// TestGreatIntegers checks large integers that equal the fill value after rounding to a double. These integers are not fill
// values.
func TestGreatIntegers(t *testing.T) {
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: 4}},
		column{name: "i", dims: []string{"n"}, t: cdf5.Int64, values: []int64{math.MinInt64, math.MinInt64 + 2, math.MinInt64 + 500, 1}},
		column{name: "u", dims: []string{"n"}, t: cdf5.UInt64, values: []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 500, 1}})
	for _, name := range []string{"i", "u"} {
		states := map[int64]State{}
		spots(draw(t, d, Options{Var: name, Kind: Line}), func(_, _ float64, s *Spot) { states[s.Index[0].At] = s.State })
		if states[0] != Good || states[1] != Fill || states[2] != Good || states[3] != Good {
			t.Errorf("%s: %v", name, states)
		}
	}
}

// TestTimesOnPaper checks that dates are drawn at the positions of their values, and that indices are not shown as dates.
func TestTimesOnPaper(t *testing.T) {
	units := atts("units", "days since 2000-01-01")
	d := dataset(t, 0, []cdf5.Dim{{Name: "twice", Len: 4}, {Name: "digits", Len: 4}, {Name: "micro", Len: 4}},
		column{name: "twice", dims: []string{"twice"}, atts: units, values: []float64{10, 10, 20, 30}},
		column{name: "digits", dims: []string{"digits"}, atts: atts("units", "day as %Y%m%d.%f"), values: []float64{20000130, 20000131, 20000201, 20000202}},
		column{name: "micro", dims: []string{"micro"}, t: cdf5.Int64, atts: atts("units", "microseconds since 1970-01-01"), values: []int64{17e14, 17e14 + 1e6, 17e14 + 2e6, 17e14 + 3e6}},
		column{name: "T", dims: []string{"twice"}, values: []float64{0, 1, 2, 3}},
		column{name: "D", dims: []string{"digits"}, values: []float64{0, 1, 2, 3}},
		column{name: "M", dims: []string{"micro"}, values: []float64{0, 1, 2, 3}})
	if text := svg(t, draw(t, d, Options{Var: "T", Kind: Line, Width: 700})); strings.Contains(text, "2000-01-") || !strings.Contains(text, "index along twice") {
		t.Errorf("times without order: %s", text)
	}
	for name, want := range map[string][]string{"D": {"2000-01-30", "2000-01-31", "2000-02-01", "2000-02-02"}, "M": {"2023-11-14 22:13:20", "2023-11-14 22:13:21", "2023-11-14 22:13:22", "2023-11-14 22:13:23"}} {
		p := draw(t, d, Options{Var: name, Kind: Line, Width: 700})
		first := map[int64]float64{} // first position of each element on the page
		spots(p, func(x, _ float64, s *Spot) {
			k := s.Index[0].At
			if s.Where != want[k] {
				t.Fatalf("%s: element %d is at %s, want %s", name, k, s.Where, want[k])
			}
			if at, ok := first[k]; !ok || x < at {
				first[k] = x
			}
		})
		if len(first) != 4 || math.Abs((first[2]-first[1])-(first[3]-first[2])) > 23 { // two steps of the lattice
			t.Errorf("%s: elements begin at %v", name, first)
		}
	}
}

// TestWideLogarithm checks that a logarithmic histogram counts each value above 0, over any range.
func TestWideLogarithm(t *testing.T) {
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: 4}}, column{name: "x", dims: []string{"n"}, values: []float64{-1, 1e-300, 1, 1e300}})
	p := draw(t, d, Options{Var: "x", Kind: Histogram, Log: true, Width: 1400})
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "1 value not above 0") || strings.Contains(notes, "beyond") {
		t.Errorf("%q", notes)
	}
	counted := map[string]float64{}
	_, h := p.Size()
	for x := 0.0; x < 1400; x += 5 { // a column has the same text at any height
		if s, ok := p.Spot(x, h-80); ok {
			counted[s.Where] = s.Value
		}
	}
	sum := 0.0
	for _, n := range counted {
		sum += n
	}
	if sum != 3 {
		t.Errorf("%v elements: %v", sum, counted)
	}
}
