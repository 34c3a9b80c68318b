package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		lo, hi float64
		n      int
		want   string
	}{
		{Axis{}, 0, 1, 6, "0|0.2|0.4|0.6|0.8|1"},
		{Axis{}, 0, 1.15, 7, "0|0.2|0.4|0.6|0.8|1"},
		{Axis{}, 0, 40, 5, "0|10|20|30|40"},
		{Axis{}, -0.3, 0.3, 7, "−0.3|−0.2|−0.1|0|0.1|0.2|0.3"},
		{Axis{}, 0, 12000, 8, "0|2000|4000|6000|8000|10000|12000"},
		{Axis{}, 1e15, 1e15 + 4, 5, "1.000000000000000e15|1.000000000000001e15|1.000000000000002e15|1.000000000000003e15|1.000000000000004e15"},
		{Axis{}, 0, 3e-9, 4, "0|1e-9|2e-9|3e-9"},
		{Axis{}, -1e308, 1e308, 5, "−1e308|−5e307|0|5e307|1e308"},
		{Axis{Log: true}, 1, 100, 8, "1|2|5|10|20|50|100"},
		{Axis{Log: true}, 10, 1e5, 6, "10|100|1000|10000|100000"},
		{Axis{Log: true}, 1e-300, 1e300, 4, "1e−200|1|1e200"},
		{Axis{Log: true}, 110, 140, 4, "110|120|130|140"},
	} {
		s := scale{axis: &c.axis, lo: c.lo, hi: c.hi, to: 1}
		var got []string
		for _, k := range s.ticks(c.n) {
			got = append(got, k.text)
		}
		if have, want := strings.Join(got, "|"), strings.ReplaceAll(c.want, "e-", "e−"); have != want {
			t.Errorf("%+v from %v to %v: %s, want %s", c.axis, c.lo, c.hi, have, want)
		}
	}
}

// Ticks must be few, ascending, within the ends, and have different texts, for any ends.
func TestTicksOfAnyEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	any := func() float64 { return math.Float64frombits(rng.Uint64()) }
	for i := range 6000 {
		a := Axis{Log: i%2 == 0}
		lo, hi := any(), any()
		if i%3 == 0 { // close to each other
			hi = lo * (1 + rng.Float64()*math.Pow(10, -float64(rng.IntN(16))))
		}
		if lo > hi {
			lo, hi = hi, lo
		}
		if !a.drawable(lo) || !a.drawable(hi) || lo == hi {
			continue
		}
		n := 2 + rng.IntN(10)
		values := ticks(a.Log, lo, hi, n)
		slack := 1e-6 * (hi/2 - lo/2)
		if a.Log {
			slack = 1e-6 * hi
		}
		for k, v := range values {
			if math.IsNaN(v) || v < lo-slack || v > hi+slack || k > 0 && v <= values[k-1] {
				t.Fatalf("%+v from %v to %v: %v", a, lo, hi, values)
			}
		}
		if len(values) > n+3 {
			t.Fatalf("%+v from %v to %v: %d, want about %d", a, lo, hi, len(values), n)
		}
		var names []string
		for _, v := range values {
			names = append(names, Text(v, digitsOf(values)))
		}
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("from %v to %v: %q", lo, hi, names)
		}
	}
}

func TestEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{}, []float64{2, 100}, "0 105 true"},
		{Axis{}, []float64{-10, -2}, "-10.5 0 true"},
		{Axis{}, []float64{0}, "0 1 true"},
		{Axis{}, nil, "0 0 false"},
		{Axis{}, []float64{nan, inf, -inf}, "0 0 false"},
		{Axis{}, []float64{nan, 20, inf}, "0 21 true"},
		{Axis{}, []float64{math.MaxFloat64}, fmt.Sprint(0, " ", math.MaxFloat64, " true")},
		{Axis{Min: 3, Max: 4}, []float64{100}, "3 4 true"},
		{Axis{Min: 4, Max: 3}, []float64{100}, "0 105 true"},
		{Axis{Max: nan}, []float64{100}, "0 105 true"},
		{Axis{Max: inf}, []float64{100}, "0 105 true"},
		{Axis{Log: true}, []float64{-1, 0, 3, 700}, "2 1000 true"},
		{Axis{Log: true}, []float64{5}, "2.5 10 true"},
		{Axis{Log: true}, []float64{0, -4}, "0 0 false"},
		{Axis{Log: true, Max: 7}, []float64{1, 10}, "1 10 true"},
	} {
		lo, hi, ok := c.axis.ends(c.values)
		if got := fmt.Sprint(lo, " ", hi, " ", ok); got != c.want {
			t.Errorf("%+v of %v: %s, want %s", c.axis, c.values, got, c.want)
		}
	}
}

// The lower end must be drawn at from, the upper end at to, and the middle between them, even if the difference of the ends
// overflows.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		log         bool
		lo, mid, hi float64
	}{{false, 0, 5, 10}, {false, -1e308, 0, 1e308}, {true, 1, 10, 100}, {true, 1e-300, 1, 1e300}} {
		s := scale{&Axis{Log: c.log}, c.lo, c.hi, 200, 100}
		for v, want := range map[float64]float64{c.lo: 200, c.mid: 150, c.hi: 100} {
			if got := s.at(v); math.Abs(got-want) > 1e-6 {
				t.Errorf("%+v: %v is at %v, want %v", c, v, got, want)
			}
		}
	}
}

// Texts below an axis must not touch, even on a narrow axis.
func TestTextsApart(t *testing.T) {
	d := Measure()
	for _, a := range []Axis{{Max: 1e6}, {Max: 1.15}, {Min: 1e-3, Max: 1e9, Log: true}} {
		for _, wide := range []float64{1, 30, 100, 400, 2000} {
			lo, hi, _ := a.ends(nil)
			s := scale{&a, lo, hi, 50, 50 + wide}
			list := s.across(d)
			if wide >= 400 && len(list) < 3 || len(list) == 0 {
				t.Errorf("%+v of %v points: %d texts", a, wide, len(list))
			}
			for i := 1; i < len(list); i++ {
				if x, y := list[i-1], list[i]; x.at+d.Width(x.text, tickStyle)/2 >= y.at-d.Width(y.text, tickStyle)/2 {
					t.Errorf("%v points: %q and %q touch", wide, x.text, y.text)
				}
			}
		}
	}
}
