package slab

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var space = []Dim{{"time", 7}, {"lat", 7}, {"lon", 8}, {"lev", 5}, {"ncol", 6}, {"none", 0}, {"odd", 3}}

var coords = map[string]*Axis{
	"lat":  {Dim: "lat", Values: []float64{-90, -60, -30, 0, 30, 60, 90}},
	"lon":  {Dim: "lon", Values: []float64{0, 45, 90, 135, 180, 225, 270, 315}},
	"lev":  {Dim: "lev", Values: []float64{1000, 850, 500, 200, 100}},
	"odd":  {Dim: "odd", Values: []float64{1, math.NaN(), 3}},
	"clat": {Dim: "ncol", Values: []float64{10, -20, 30, 12, -80, 11}},
	"clon": {Dim: "ncol", Values: []float64{0, 90, 180, 270, 300, 350}},
	"time": {Dim: "time", Values: []float64{0, 1, 2, 3, 4, 5, 6}, Date: func(s string) (float64, error) { return 3, nil }},
}

func coord(name string) (*Axis, error) { return coords[name], nil }

// TestResolve tests selections as in ncks and extensions of blobio. TestJudgeNcks of cmd/blobio/internal/dataset compares with
// ncks itself.
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		args string
		dim  string
		want []int64
	}{
		{"lat,30.,60.", "lat", []int64{4, 5}}, {"lat,31.", "lat", []int64{4}}, {"lat,15.", "lat", []int64{3}}, {"lat,1e1,4e1", "lat", []int64{4}},
		{"lat,1d1,4D1", "lat", []int64{4}}, {"lat,60.,30.", "lat", []int64{5, 6, 0, 1, 2, 3, 4}}, {"lat,5,1", "lat", []int64{5, 6, 0, 1}},
		{"lon,260.,90.", "lon", []int64{6, 7, 0, 1, 2}}, {"lon,5,1,2", "lon", []int64{5, 7, 1}}, {"lon,225.,90.,3", "lon", []int64{5, 0}},
		{"lev,150.,900.", "lev", []int64{1, 2, 3}}, {"lat,0,3 lat,2,6,2", "lat", []int64{0, 1, 2, 3, 4, 6}}, {"lat,,3", "lat", []int64{0, 1, 2, 3}},
		{"lat,3,", "lat", []int64{3, 4, 5, 6}}, {"lat,,,2", "lat", []int64{0, 2, 4, 6}}, {"lat,-2", "lat", []int64{5}}, {"lat,-3,-1", "lat", []int64{4, 5, 6}},
		{"lat,-1,1", "lat", []int64{6, 0, 1}}, {"lat,30.,", "lat", []int64{4, 5, 6}}, {"lat,,30.", "lat", []int64{0, 1, 2, 3, 4}}, {"lat,1000.", "lat", []int64{6}},
		{"lat,31.,31.", "lat", []int64{4}}, {"lat,0,6,100", "lat", []int64{0}}, {"lat,6 lat,0", "lat", []int64{0, 6}}, {"lat,200.,100.", "lat", []int64{0, 1, 2, 3, 4, 5, 6}},
		{"odd,2.9", "odd", []int64{2}}, {"time,2000-01-04,", "time", []int64{3, 4, 5, 6}}, {"lat,-95.,-29.5", "lat", []int64{0, 1, 2}},
		{"clat,9.,12.", "ncol", []int64{0, 3, 5}}, {"clat,11.4", "ncol", []int64{5}}, {"clat,9.,12. clon,260.,10.", "ncol", []int64{0, 3, 5}},
		{"clon,340.,10.", "ncol", []int64{0, 5}}, {"clat,9.,12. ncol,3,", "ncol", []int64{3, 5}}, {"clat,,,2", "", nil},
	} {
		var args []Arg
		for s := range strings.FieldsSeq(c.args) {
			a, err := Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, a)
		}
		got, err := Resolve(args, space, coord)
		if c.dim == "" {
			if err == nil {
				t.Errorf("%s: %v, want an error", c.args, got)
			}
			continue
		}
		if err != nil || len(got) != 1 || !slices.Equal(listed(got[c.dim]), c.want) {
			t.Errorf("%s: %v, want %s %v (%v)", c.args, got, c.dim, c.want, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for words, want := range map[string]string{
		"lat,7": "want 0 to 6", "lat,-8": "want 0 to 6", "lat,0,9": "want 0 to 6", "lat,31.,59.": "no value", "lat,100.,200.": "no value",
		"lev,900.,150.": "smaller limit first", "nolat,1": "no dimension", "LAT,1": `but "lat"`, "ncol,1.": "no coordinate variable", "none,0": "no elements",
		"odd,1.,3.": "neither ascending", "lat,2000-01-01": "no units of time", "clat,2,3": "give values", "clat,50.,60.": "no value",
		"clat,9.,12. clon,80.,100.": "no common element",
		"lat":                       "want NAME", ",1": "want NAME", "lat,,": "neither", "lat,1,2,3,4": "want NAME", "lat,x": "want an index", "lat,30,60.": "the second is a value",
		"lat,0,6,0": "stride", "lat,0,6,-1": "stride", "lat,0,6,x": "stride", "lat,99999999999999999999": "2^63", "lat,1.2.3": "want a number", "lat,": "follows the comma",
		"": "want NAME", "lat,1e999": "want a number", "lat,-": "want a number",
	} {
		var args []Arg
		var err error
		for _, s := range strings.Split(words, " ") {
			var a Arg
			if a, err = Parse(s); err != nil {
				break
			}
			args = append(args, a)
		}
		if err == nil {
			_, err = Resolve(args, space, coord)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", words, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"lat,30.,60.", "time,0,9,3", "clat,,12.,2", "lon,350.,10.", "time,2000-01-01,", "lat,-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := Parse(s)
		if err != nil {
			return
		}
		got, err := Resolve([]Arg{a}, space, coord)
		if err != nil {
			return
		}
		for dim, x := range got {
			i := slices.IndexFunc(space, func(d Dim) bool { return d.Name == dim })
			if err := x.Check(space[i].Len); err != nil {
				t.Errorf("%q takes %v: %v", s, x, err)
			}
		}
	})
}
