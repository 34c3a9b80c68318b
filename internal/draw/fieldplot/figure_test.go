package fieldplot

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
)

// field makes a dataset with records, levels and a grid, in which each value encodes its element.
func field(t testing.TB) *Data {
	var v []float64
	for rec := range 3 {
		for lev := range 5 {
			for lat := range 6 {
				for lon := range 8 {
					v = append(v, float64(1000*rec+100*lev+10*lat+lon))
				}
			}
		}
	}
	return dataset(t, 3, []cdf5.Dim{{Name: "time"}, {Name: "lev", Len: 5}, {Name: "lat", Len: 6}, {Name: "lon", Len: 8}, {Name: "chars", Len: 8}},
		column{name: "time", dims: []string{"time"}, atts: atts("units", "days since 2000-01-01", "calendar", "noleap"), values: []float64{0, 31, 59}},
		column{name: "lev", dims: []string{"lev"}, atts: atts("units", "hPa", "positive", "down"), values: []float64{10, 100, 500, 850, 1000}},
		column{name: "lat", dims: []string{"lat"}, atts: atts("units", "degrees_north"), values: []float64{-75, -45, -15, 15, 45, 75}},
		column{name: "lon", dims: []string{"lon"}, atts: atts("units", "degrees_east"), values: []float64{0, 45, 90, 135, 180, 225, 270, 315}},
		column{name: "words", dims: []string{"time", "chars"}, values: []byte("2000-1-12000-2-12000-3-1"), t: cdf5.Char},
		column{name: "P0", values: []float64{1e5}},
		column{name: "T", dims: []string{"time", "lev", "lat", "lon"}, atts: atts("units", "K"), values: v})
}

// TestSections checks that each point shows the element with the nearest coordinates, for any choice and order of dimensions.
func TestSections(t *testing.T) {
	d := field(t)
	for _, c := range []struct{ x, y, wantX, wantY string }{{"", "", "lat", "lev"}, {"lon", "", "lon", "lev"}, {"time", "lat", "time", "lat"}, {"lat", "lon", "lat", "lon"}, {"lev", "time", "lev", "time"}} {
		p := draw(t, d, Options{Var: "T", Kind: Section, X: c.x, Y: c.y, At: map[string]int64{"time": 1, "lev": 2, "lat": 3, "lon": 4}})
		seen := map[string]map[int64]bool{}
		var first, last *Spot
		spots(p, func(_, _ float64, s *Spot) {
			want := 0.0
			for i, f := range []float64{1000, 100, 10, 1} {
				want += f * float64(s.Index[i].At)
				if seen[s.Index[i].Dim] == nil {
					seen[s.Index[i].Dim] = map[int64]bool{}
				}
				seen[s.Index[i].Dim][s.Index[i].At] = true
			}
			if s.Value != want {
				t.Fatalf("%+v: %v at %v", c, s.Value, s.Index)
			}
			if first == nil {
				first = s
			}
			last = s
		})
		for dim, n := range map[string]int{"time": 3, "lev": 5, "lat": 6, "lon": 8} {
			if dim != c.wantX && dim != c.wantY {
				n = 1
			}
			if len(seen[dim]) != n {
				t.Errorf("%+v: %d elements of %s, want %d", c, len(seen[dim]), dim, n)
			}
		}
		// levels increase downwards, other vertical dimensions upwards, and horizontal dimensions to the right
		at := func(s *Spot, dim string) int64 {
			return s.Index[slices.IndexFunc(s.Index, func(i Index) bool { return i.Dim == dim })].At
		}
		if up := at(first, c.wantY) > at(last, c.wantY); up != (c.wantY != "lev") || at(first, c.wantX) != 0 {
			t.Errorf("%+v: first %v, last %v", c, first, last)
		}
	}
}

// TestLines checks that series and profiles contain the elements of their dimension, in order.
func TestLines(t *testing.T) {
	d := field(t)
	for dim, f := range map[string]float64{"time": 1000, "lev": 100, "lat": 10, "lon": 1} {
		p := draw(t, d, Options{Var: "T", X: dim, At: map[string]int64{"lev": 1}})
		seen := map[int64]bool{}
		spots(p, func(_, _ float64, s *Spot) {
			for _, i := range s.Index {
				if i.Dim == dim {
					seen[i.At] = true
					base := 100.0
					if dim == "lev" {
						base = 0
					}
					if s.Value != f*float64(i.At)+base {
						t.Fatalf("%s: %v at %v", dim, s.Value, s.Index)
					}
				}
			}
		})
		if p.Kind != Line || len(seen) != map[string]int{"time": 3, "lev": 5, "lat": 6, "lon": 8}[dim] {
			t.Errorf("%s: %s, %v", dim, p.Kind, seen)
		}
	}
	p := draw(t, d, Options{Var: "time"})
	_, h := p.Size()
	s, ok := p.Spot(150, h-60)
	if !ok || s.Text != "2000-02-01" || s.Where != "2000-02-01" {
		t.Errorf("%+v", s)
	}
}

// TestThinned checks that a line through many values includes the minimum and maximum.
func TestThinned(t *testing.T) {
	const n = 100_000
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Sin(float64(i) / 900)
	}
	v[54_321], v[77_777], v[5] = 8, -9, math.NaN()
	list := thinned(v)
	if len(list) > maxLine || !slices.Contains(list, 54_321) || !slices.Contains(list, 77_777) || !slices.IsSorted(list) {
		t.Errorf("%d points", len(list))
	}
}

// TestHistogram checks that each element is counted once.
func TestHistogram(t *testing.T) {
	const n = 1000
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i%10) + 0.5
	}
	v[3] = cdf5.FillValue(cdf5.Double).(float64)
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}}, column{name: "v", dims: []string{"n"}, values: v})
	for _, log := range []bool{false, true} {
		p := draw(t, d, Options{Var: "v", Width: 600, Log: log})
		counts := map[string]float64{}
		_, h := p.Size()
		for x := 0.0; x < 600; x += 2 {
			if s, ok := p.Spot(x, h-80); ok {
				counts[s.Where] = s.Value
			}
		}
		sum := 0.0
		for _, c := range counts {
			sum += c
		}
		if p.Kind != Histogram || sum != n-1 {
			t.Errorf("%s: %v elements in %d columns", p.Kind, sum, len(counts))
		}
	}
}

// TestWindows checks that windows read each element once, in order.
func TestWindows(t *testing.T) {
	const a, b = 3, window/2 + 7
	v := make([]float32, a*b)
	for i := range v {
		v[i] = float32(i)
	}
	d := dataset(t, 0, []cdf5.Dim{{Name: "a", Len: a}, {Name: "b", Len: b}}, column{name: "v", dims: []string{"a", "b"}, values: v, t: cdf5.Float})
	p, err := newPlan(d, &Options{Var: "v", At: map[string]int64{"a": 1}}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range [][]string{{"a", "b"}, {"b"}, {"a"}} {
		next, n := int64(0), int64(0)
		err := p.each(t.Context(), over, func(first int64, x []float64) error {
			if first != next || len(x) > window {
				t.Fatalf("%v: %d values from %d on, want from %d", over, len(x), first, next)
			}
			for i, got := range x {
				k := first + int64(i)
				want := k
				switch {
				case len(over) == 1 && over[0] == "b":
					want = b + k
				case len(over) == 1:
					want = k * b
				}
				if got != float64(want) {
					t.Fatalf("%v: element %d is %v, want %d", over, k, got, want)
				}
			}
			next += int64(len(x))
			n++
			return nil
		})
		if want := map[int]int64{2: a * b, 1: b}[len(over)]; err != nil || over[0] == "b" && next != want || len(over) == 2 && (next != want || n < 2) {
			t.Errorf("%v: %d elements in %d windows, %v", over, next, n, err)
		}
	}
	// sampleHull and sampleRuns must give equal samples
	xs, ys := picks(b, 300), picks(a, 3)
	got, err := p.sample(t.Context(), "b", xs, "a", ys)
	if err != nil {
		t.Fatal(err)
	}
	runs := make([]float64, len(got))
	if err := p.sampleRuns(t.Context(), []int64{a, b}, []slab.Index{spans(ys), spans(xs)}, runs); err != nil || !slices.Equal(got, runs) {
		t.Error(err)
	}
	for j, y := range ys {
		for i, x := range xs {
			if got[j*len(xs)+i] != float64(y*b+x) {
				t.Fatalf("%d, %d: %v", y, x, got[j*len(xs)+i])
			}
		}
	}
}

// TestRefuses checks the errors for undrawable requests.
func TestRefuses(t *testing.T) {
	d := field(t)
	for want, o := range map[string]Options{
		"name of the variable is missing": {},
		"no variable \"nosuch\"":          {Var: "nosuch"},
		"text, not numbers":               {Var: "words"},
		"single number":                   {Var: "P0"},
		"no dimension \"x\"":              {Var: "T", At: map[string]int64{"x": 0}},
		"lev 5, want 0 to 4":              {Var: "T", At: map[string]int64{"lev": 5}},
		"lev -1, want 0 to 4":             {Var: "T", At: map[string]int64{"lev": -1}},
		"width 10":                        {Var: "T", Width: 10},
		"colours \"pink\"":                {Var: "T", Colors: "pink"},
		"unknown kind of picture":         {Var: "T", Kind: "cake"},
		"begins at -1":                    {Var: "T", Log: true, Min: -1, Max: 1},
		"values from":                     {Var: "T", Min: math.NaN()},
		"both axes are along lat":         {Var: "T", Kind: Section, X: "lat", Y: "lat"},
		"no dimension \"q\"":              {Var: "T", Kind: Line, X: "q"},
		"needs two dimensions":            {Var: "lev", Kind: Section},
		"lev has no coordinates:":         {Var: "lev", Kind: Map},
	} {
		if _, err := NewAtlas(0).Draw(t.Context(), d, &o); !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestChoose checks the choices that a viewer offers for a variable.
func TestChoose(t *testing.T) {
	d := field(t)
	if got := Drawable(d.Reader); !slices.Equal(got, []string{"time", "lev", "lat", "lon", "T"}) {
		t.Error(got)
	}
	if got := First(d); got != "T" {
		t.Error(got)
	}
	if LevelDim(d, "T") != "lev" || LevelDim(d, "lat") != "lat" && LevelDim(d, "time") != "" || RecordDim(d.Reader, "T") != "time" || RecordDim(d.Reader, "lat") != "" {
		t.Error(LevelDim(d, "T"), LevelDim(d, "lat"), RecordDim(d.Reader, "T"))
	}
	s, err := See(t.Context(), d, &Options{Var: "T", At: map[string]int64{"lev": 3}})
	if err != nil || s.Kind != Map || len(s.Fixed) != 2 || s.Fixed[1].Text != "lev 850 hPa" || s.Fixed[0].Texts[2] != "2000-03-01" || !s.Fixed[0].Record {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]int64{"lev,2": 2, "lev,840.": 3, "lev,-1": 4, "time,2000-02-20": 2, "time,40.": 1, "lat,-50.": 1} {
		a, err := slab.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Select(t.Context(), d, "T", []slab.Arg{a})
		if err != nil || got[a.Name] != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	a, _ := slab.Parse("lev,0,2")
	if _, err := Select(t.Context(), d, "T", []slab.Arg{a}); err == nil {
		t.Error("a range is one element")
	}
}

func TestTrack(t *testing.T) {
	for _, v := range [][]float64{{0, 0}, {1}, {0, 1, 0.5}, {0, 90, 180, 270, 361}} {
		if _, ok := newTrack(v, true); ok {
			t.Error(v)
		}
	}
	down, ok := newTrack([]float64{90, 0, -90}, false)
	if !ok || down.find(80) != 0 || down.find(-10) != 1 || down.find(-90) != 2 || down.find(90) != 0 || down.find(91) != -1 {
		t.Error(down)
	}
	part, ok := newTrack([]float64{350, 0, 10}, true)
	if !ok || part.find(351) != 0 || part.find(-9) != 0 || part.find(3) != 1 || part.find(14) != 2 || part.find(16) != -1 || part.find(340) != -1 {
		t.Error(part)
	}
}

// TestLabels checks that axis labels are complete and on the page, whatever their length. The label of an index axis has no unit.
func TestLabels(t *testing.T) {
	const n = 40
	var z, v []float64
	for i := range n {
		z = append(z, []float64{3, 1, 2}[i%3]) // not monotonic
		v = append(v, float64(i))
	}
	d := dataset(t, 0, []cdf5.Dim{{Name: "k", Len: 5}, {Name: "i", Len: 8}, {Name: "nVertLevels", Len: n}}, column{name: "refZMid", dims: []string{"nVertLevels"}, atts: atts("units", "m"), values: z},
		column{name: "k", dims: []string{"k"}, atts: atts("units", "a unit that is longer than the room for values"), values: []float64{1, 2, 3, 4, 5}},
		column{name: "v", dims: []string{"k", "i"}, values: v}, column{name: "w", dims: []string{"nVertLevels"}, values: v})
	for name, want := range map[string][]string{"v": {"k (a unit that is longer than the room for values)", "index along i"}, "w": {"index along nVertLevels"}} {
		var b bytes.Buffer
		if err := draw(t, d, Options{Var: name}).SVG(&b); err != nil {
			t.Fatal(err)
		}
		for _, label := range want {
			m := regexp.MustCompile(`<text x="([-0-9.]+)"[^>]*>` + regexp.QuoteMeta(label) + `</text>`).FindStringSubmatch(b.String())
			if m == nil {
				t.Errorf("%s has no %q", name, label)
			} else if x, _ := strconv.ParseFloat(m[1], 64); x < margin-1 {
				t.Errorf("%s: %q begins at %v", name, label, x)
			}
		}
	}
}
