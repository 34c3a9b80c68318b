package stats

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/view/cf"
)

// meaning returns the meaning of a variable with a fill value (a slice of one), or without.
func meaning(t cdf5.Type, fill any) *cf.Meaning {
	v := &blob.Variable{Name: "v", Type: t}
	if fill != nil {
		v.Atts = []cdf5.Att{{Name: "_FillValue", Type: t, Value: fill}}
	}
	return cf.MeaningOf(v)
}

// TestScan compares with sums without rounding errors.
func TestScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, block, block + 1, 100000} {
		x := make([]float64, n)
		exact, values := new(big.Float).SetPrec(500), int64(0)
		lo, hi := math.Inf(1), math.Inf(-1)
		var fill, nan int64
		for i := range x {
			switch x[i] = (rng.Float64() - 0.4) * math.Pow(10, float64(rng.IntN(12))); rng.IntN(10) {
			case 0:
				x[i] = -9999
				fill++
			case 1:
				x[i] = math.NaN()
				nan++
			default:
				exact.Add(exact, big.NewFloat(x[i]))
				values++
				lo, hi = min(lo, x[i]), max(hi, x[i])
			}
		}
		m := meaning(cdf5.Double, []float64{-9999})
		whole := of(slices.Clone(x), m)
		var parts Summary
		for at := 0; at < n; at += 1000 {
			p := of(x[at:min(n, at+1000)], m)
			parts.Join(&p)
		}
		for _, s := range []Summary{whole, parts} {
			if s.Values != values || s.Fill != fill || s.NaN != nan {
				t.Fatalf("%d elements: %+v, want %d values, %d fill values, %d NaN", n, s, values, fill, nan)
			}
			if values == 0 {
				if !math.IsNaN(s.Mean()) || s.Min != nil || s.Max != nil {
					t.Fatalf("nothing: %+v", s)
				}
				continue
			}
			want, _ := new(big.Float).Quo(exact, new(big.Float).SetInt64(values)).Float64()
			if math.Abs(s.Mean()-want) > 4e-16*math.Abs(want)*float64(block) || s.Min != lo || s.Max != hi {
				t.Errorf("%d elements: mean %v, want %v; %v to %v, want %v to %v", n, s.Mean(), want, s.Min, s.Max, lo, hi)
			}
		}
	}
}

func TestScanTypes(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		data, fill       any
		values, fills, n int64
		lo, hi           any
		mean             float64
	}{
		{[]int8{-5, 7, 7}, nil, 3, 0, 0, int64(-5), int64(7), 3},
		{[]uint8{255, 0}, []uint8{255}, 1, 1, 0, int64(0), int64(0), 0},
		{[]int64{math.MaxInt64, math.MinInt64, 1}, []int64{1}, 2, 1, 0, int64(math.MinInt64), int64(math.MaxInt64), 0},
		{[]uint64{math.MaxUint64, 1<<63 + 1}, nil, 2, 0, 0, uint64(1<<63 + 1), uint64(math.MaxUint64), 13835058055282163712},
		{[]float32{nan, 1, nan}, []float32{nan}, 1, 2, 0, 1.0, 1.0, 1},
		{[]float32{nan, 1.5, 2.5}, []float32{2.5}, 1, 1, 1, 1.5, 1.5, 1.5},
		{[]float64{math.Inf(1), 1}, nil, 2, 0, 0, 1.0, math.Inf(1), math.Inf(1)},
		{[]float64{math.Inf(1), math.Inf(-1)}, nil, 2, 0, 0, math.Inf(-1), math.Inf(1), math.NaN()},
		{[]float64{1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308}, nil, 6, 0, 0, 1.7e308, 1.7e308, 1.7e308},
		{[]float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, nil, 3, 0, 0, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64},
		{[]float64{-1.5e308, 1.5e308, -1.5e308, -1.5e308, 0}, nil, 5, 0, 0, -1.5e308, 1.5e308, -0.6e308},
		{[]uint16{3}, []uint16{3}, 0, 1, 0, nil, nil, math.NaN()},
		{[]int16{3}, nil, 1, 0, 0, int64(3), int64(3), 3}, {[]int32{3}, nil, 1, 0, 0, int64(3), int64(3), 3}, {[]uint32{3}, nil, 1, 0, 0, int64(3), int64(3), 3},
	} {
		typ := map[string]cdf5.Type{"[]int8": cdf5.Byte, "[]uint8": cdf5.UByte, "[]int16": cdf5.Short, "[]uint16": cdf5.UShort, "[]int32": cdf5.Int, "[]uint32": cdf5.UInt,
			"[]int64": cdf5.Int64, "[]uint64": cdf5.UInt64, "[]float32": cdf5.Float, "[]float64": cdf5.Double}[fmt.Sprintf("%T", c.data)]
		s := of(c.data, meaning(typ, c.fill))
		if s.Values != c.values || s.Fill != c.fills || s.NaN != c.n || s.Min != c.lo || s.Max != c.hi || s.Mean() != c.mean && !(math.IsNaN(c.mean) && math.IsNaN(s.Mean())) && !(math.Abs(s.Mean()-c.mean) < 4e-16*math.Abs(c.mean)) {
			t.Errorf("%v with fill value %v: %+v, mean %v, want %+v", c.data, c.fill, s, s.Mean(), c)
		}
		var j Summary
		j.Join(&s)
		j.Join(&Summary{})
		if j.Values != s.Values || j.Min != s.Min || j.Max != s.Max {
			t.Errorf("%v: joined %+v", c.data, j)
		}
	}
}

// TestJoinInfinities checks that the mean of infinite values is infinite, and NaN for both signs, also after Join.
func TestJoinInfinities(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []struct {
		parts [][]float64
		mean  float64
	}{
		{[][]float64{{inf, inf}, {inf}}, inf}, {[][]float64{{1, -inf}, {2}, {-inf}}, -inf}, {[][]float64{{1}, {inf}, {-inf}}, math.NaN()}, {[][]float64{{inf}, {1e308, 1e308}}, inf},
	} {
		var all Summary
		for _, p := range x.parts {
			s := of(slices.Clone(p), meaning(cdf5.Double, nil))
			all.Join(&s)
		}
		if got := all.Mean(); got != x.mean && !(got != got && x.mean != x.mean) {
			t.Errorf("%v: %v, want %v", x.parts, got, x.mean)
		}
	}
}
