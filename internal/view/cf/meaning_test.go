package cf

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
	"blobio/internal/base/testfiles"
	"blobio/internal/cdf5/cdftest"
)

func att(name string, value any) cdf5.Att {
	if s, ok := value.(string); ok {
		return cdf5.Att{Name: name, Type: cdf5.Char, Value: s}
	}
	if one, ok := elem.One(value); ok {
		value = one
	}
	_, t, _ := cdf5.SliceLen(value)
	return cdf5.Att{Name: name, Type: t, Value: value}
}

func atts(list ...any) (out []cdf5.Att) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, att(list[i].(string), list[i+1]))
	}
	return out
}

// variable makes a variable with the type of data.
func variable(data any, list ...any) *blob.Variable {
	_, t, _ := cdf5.SliceLen(data)
	return &blob.Variable{Name: "v", Type: t, Atts: atts(list...)}
}

func clone(data any) any {
	t, b, _ := elem.Of(data)
	return t.View(slices.Clone(b))
}

// TestWideLess checks that numbers of different types compare by value.
func TestWideLess(t *testing.T) {
	ascending := []any{int64(-1), uint64(0), int64(1), 1.5, int64(2), uint64(3), uint64(1 << 63)}
	for i, a := range ascending {
		for k, b := range ascending {
			if wideLess(a, b) != (i < k) {
				t.Errorf("%v before %v: %v", a, b, i >= k)
			}
		}
	}
}

// TestMeaning checks the effect of attributes on stored numbers. In the table, none means that a number stands for no value.
func TestMeaning(t *testing.T) {
	none, nan, inf := None, math.NaN(), math.Inf(1)
	type list = []any
	type values = []float64
	const least = math.MinInt64
	for i, c := range []struct {
		data  any
		atts  list
		want  values
		notes string // a word from each remark
	}{
		{[]int16{0, 1932, -1932, -32767}, list{"scale_factor", 0.01, "add_offset", 273.15, "_FillValue", int16(-32767)}, values{273.15, 292.47, 253.83, none}, ""},
		{[]int16{0, 1932}, list{"scale_factor", []float64{0.5}}, values{0, 966}, ""},
		{[]int16{900, 301}, list{"scale_factor", float32(0.1)}, values{90, float64(float32(30.1))}, ""},
		{[]int16{900, 301}, list{"scale_factor", float32(0.1), "add_offset", 1.}, values{900*float64(float32(0.1)) + 1, 301*float64(float32(0.1)) + 1}, ""},
		{[]int32{1 << 30}, list{"scale_factor", float32(2), "add_offset", float32(1)}, values{1<<31 + 1}, ""},
		{[]int16{0, 1932}, list{"add_offset", int32(7)}, values{7, 1939}, ""},
		{[]int16{0, 1932}, list{"scale_factor", "0.01", "add_offset", 1.}, values{0, 1932}, "scale_factor is text"},
		{[]int16{0, 1932}, list{"scale_factor", 0., "add_offset", 1.}, values{0, 1932}, "scale_factor is 0"},
		{[]int16{0, 1932}, list{"scale_factor", math.NaN()}, values{0, 1932}, "scale_factor is NaN"},
		{[]int16{0, 1932}, list{"scale_factor", 2., "add_offset", inf}, values{0, 1932}, "add_offset is +Inf"},
		{[]int16{0, 1932}, list{"scale_factor", []float32{1, 2}}, values{0, 1932}, "2 numbers"},
		{[]int16{0, 1932}, list{"scale_factor", []float32{}}, values{0, 1932}, "0 numbers"},
		{[]int8{-1, -2, 0, 1}, list{"_Unsigned", "true"}, values{255, 254, 0, 1}, ""},
		{[]int8{-1, -2, 0, 1}, list{"_Unsigned", "true", "_FillValue", int8(-1), "scale_factor", 0.5}, values{none, 127, 0, 0.5}, ""},
		{[]int8{-1, -2, 0, 1}, list{"_Unsigned", "true", "missing_value", []int16{254, 0}}, values{255, none, none, 1}, ""},
		{[]int8{-1, -2, 0, 1}, list{"valid_range", []int16{0, 255}}, values{255, 254, 0, 1}, ""},
		{[]int8{-1, -2, 0, 1}, list{"valid_range", []int16{0, 254}}, values{none, 254, 0, 1}, ""},
		{[]int8{-1, -2, 0, 1}, list{"valid_range", []int16{0, 100}}, values{none, none, 0, 1}, ""},
		{[]int8{-1, -2, 0, 1}, list{"scale_factor", 2., "valid_range", []float64{0, 200}}, values{none, none, 0, 2}, ""},
		{[]uint8{255, 254, 0}, list{"_Unsigned", "false"}, values{-1, -2, 0}, ""},
		{[]int8{-1, -127}, list{"_Unsigned", "false"}, values{-1, -127}, ""},
		{[]int8{-1, 3}, list{"_Unsigned", "maybe"}, values{-1, 3}, "_Unsigned is \"maybe\""},
		{[]float32{-1, 3}, list{"_Unsigned", "true"}, values{-1, 3}, "_Unsigned is set"},
		{[]int16{-1, -32767, 5}, list{"_Unsigned", "true"}, values{65535, none, 5}, ""},
		{[]int32{-1, 5}, list{"_Unsigned", "TRUE"}, values{math.MaxUint32, 5}, ""},
		{[]int64{-1, 5}, list{"_Unsigned", "true", "valid_max", int64(5)}, values{none, 5}, ""},
		{[]float32{-999, 1, 9.96921e36, 9.9692099683868690e+36}, list{"missing_value", float32(-999)}, values{none, 1, none, none}, ""},
		{[]float32{-999.9, 1, -999}, list{"missing_value", -999.9}, values{none, 1, -999}, ""},
		{[]float32{1, 2, 3}, list{"missing_value", []int32{2, 3}}, values{1, none, none}, ""},
		{[]float64{1, nan}, list{"missing_value", float32(math.NaN())}, values{1, none}, ""},
		{[]float64{1, nan, inf}, nil, values{1, nan, inf}, ""},
		{[]float64{1, -inf, inf}, list{"missing_value", []float64{inf, math.NaN()}}, values{1, -inf, none}, ""},
		{[]float32{1, 3.4e38}, list{"missing_value", 1e300}, values{1, float64(float32(3.4e38))}, ""},
		{[]int16{2, 3}, list{"missing_value", 2.5, "_FillValue", 1e20}, values{2, 3}, ""},
		{[]int16{2, -32767}, list{"missing_value", 2.}, values{none, none}, ""},
		{[]int16{2, -32767}, list{"_FillValue", int16(9)}, values{2, -32767}, ""},
		{[]int16{2, -32767}, list{"missing_value", "-999"}, values{2, none}, "missing_value is text"},
		{[]int8{-127, -128}, nil, values{-127, -128}, ""},
		{[]uint8{255, 0}, nil, values{255, 0}, ""},
		{[]int64{least, least + 1, least + 2, least + 3}, nil, values{least, least + 1, none, least + 3}, ""},
		{[]int64{least, math.MaxInt64}, list{"missing_value", -0x1p63}, values{none, math.MaxInt64}, ""},
		{[]int64{math.MaxInt64, 1}, list{"missing_value", 0x1p63}, values{math.MaxInt64, 1}, ""},
		{[]uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 3}, nil, values{math.MaxUint64, none, math.MaxUint64 - 3}, ""},
		{[]uint64{math.MaxUint64, 1}, list{"valid_max", int64(7)}, values{none, 1}, ""},
		{[]int32{1, 2, 3, 4}, list{"valid_range", []int32{2, 3}}, values{none, 2, 3, none}, ""},
		{[]int32{1, 2, 3, 4}, list{"valid_min", 1.5, "valid_max", float32(3.5)}, values{none, 2, 3, none}, ""},
		{[]int32{1, 2}, list{"valid_min", 1e30}, values{none, none}, ""},
		{[]int32{1, 2}, list{"valid_min", -1e30, "valid_max", 1e30}, values{1, 2}, ""},
		{[]int32{1, 2}, list{"valid_range", []int32{5, 1}}, values{1, 2}, "runs from 5 down to 1"},
		{[]int32{1, 2}, list{"valid_range", []int32{2}, "valid_max", "1"}, values{1, 2}, "1 numbers|valid_max is text"},
		{[]int32{1, 2}, list{"valid_min", nan}, values{1, 2}, "valid_min is NaN"},
		{[]float32{0.1, 0.3, float32(math.NaN())}, list{"valid_range", []float64{0.1, 0.2}}, values{float64(float32(0.1)), none, nan}, ""},
		{[]int16{100, 200, 300}, list{"scale_factor", 0.1, "valid_range", []int16{150, 250}}, values{none, 20, none}, ""},
		{[]int16{100, 200, 300}, list{"scale_factor", 0.1, "valid_range", []float64{20, 30}}, values{none, 20, 30}, ""},
		{[]int16{-100, -200, -300}, list{"scale_factor", -0.1, "valid_min", 20.}, values{none, 20, 30}, ""},
		{[]int16{100, 200, 300}, list{"scale_factor", 0.1, "valid_range", []int32{150, 250}}, values{none, 20, none}, ""},
		{[]float32{1, 2}, list{"scale_factor", 1., "add_offset", 0.}, values{1, 2}, ""},
	} {
		m := MeaningOf(variable(c.data, c.atts...))
		got := make(values, len(c.want))
		m.Decode(got, clone(c.data))
		for k := range got {
			if IsNone(got[k]) != IsNone(c.want[k]) || math.Abs(got[k]-c.want[k]) > 1e-13*math.Abs(c.want[k]) || (got[k] != got[k]) != (c.want[k] != c.want[k]) {
				t.Errorf("case %d: %v with %v: %v, want %v", i, c.data, c.atts, got, c.want)
				break
			}
		}
		words := strings.Split(c.notes, "|")
		if c.notes == "" {
			words = nil
		}
		if notes := m.remarks(); len(notes) != len(words) {
			t.Errorf("case %d: %v: remarks %q, want %q", i, c.atts, notes, words)
		} else {
			for k := range words {
				if !strings.Contains(notes[k], words[k]) {
					t.Errorf("case %d: %v: remarks %q, want %q", i, c.atts, notes, words)
				}
			}
		}
		// Values must return the same values as Decode.
		some, absent := m.Values(clone(c.data))
		left := slices.DeleteFunc(slices.Clone(got), IsNone)
		if n, _, _ := cdf5.SliceLen(some); int(absent) != len(got)-len(left) || n != len(left) {
			t.Errorf("case %d: %d values and %d others, want %v", i, n, absent, got)
		}
		for k := range left {
			if x := elem.At(some, k); fmt.Sprint(x) != fmt.Sprint(left[k]) && fmt.Sprintf("%.6g", toFloat(x)) != fmt.Sprintf("%.6g", left[k]) {
				t.Errorf("case %d: value %v, want %v", i, x, left[k])
			}
		}
	}
}

func toFloat(x any) float64 {
	one, _ := elem.One(x)
	list, _ := wides(&cdf5.Att{Type: cdf5.Int, Value: one})
	return float(list[0])
}

// combination makes a variable with random attributes that the judge supports. netCDF4-python treats _Unsigned = "false" as true.
// xarray lacks valid ranges and ignores missing_value of unsigned numbers.
func combination(rng *rand.Rand, judge string) (v *blob.Variable, data any) {
	fussy := judge != "xarray"
	types := []cdf5.Type{cdf5.Byte, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double}
	typ := types[rng.IntN(len(types))]
	number := func(t cdf5.Type, x float64) any {
		one := cdf5.NewSlice(t, 1)
		et, b, _ := elem.Of(one)
		elem.Store(b, elem.HostBig, et, []float64{x})
		return one
	}
	const n = 12
	stored := make([]float64, n)
	for i := range stored {
		stored[i] = float64(rng.IntN(200) - 100)
		if typ == cdf5.Float || typ == cdf5.Double {
			stored[i] /= 4
		}
	}
	data = cdf5.NewSlice(typ, n)
	et, b, _ := elem.Of(data)
	elem.Store(b, elem.HostBig, et, stored)
	v = &blob.Variable{Type: typ}
	add := func(name string, value any) {
		_, t, _ := cdf5.SliceLen(value)
		v.Atts = append(v.Atts, cdf5.Att{Name: name, Type: t, Value: value})
	}
	some := func() float64 { return stored[rng.IntN(n)] }
	chance := func() bool { return rng.IntN(3) == 0 }
	if chance() {
		add("_FillValue", number(typ, some()))
	}
	if chance() {
		of := typ
		if fussy && chance() {
			of = cdf5.Double
		}
		add("missing_value", number(of, some()))
	}
	if chance() {
		add("scale_factor", number([]cdf5.Type{cdf5.Double, cdf5.Float}[rng.IntN(2)], []float64{0.01, 0.5, -2, 3, 1}[rng.IntN(5)]))
	}
	if chance() {
		add("add_offset", number(cdf5.Double, []float64{273.15, -5, 0}[rng.IntN(3)]))
	}
	if typ != cdf5.Float && typ != cdf5.Double && chance() {
		v.Atts = append(v.Atts, cdf5.Att{Name: "_Unsigned", Type: cdf5.Char, Value: []string{"true", "false"}[rng.IntN(2)]})
		if judge == "netCDF4" {
			v.Atts[len(v.Atts)-1].Value = "true"
		}
		if judge == "xarray" {
			v.Atts = slices.DeleteFunc(v.Atts, func(a cdf5.Att) bool { return a.Name == "missing_value" })
		}
		return v, data
	}
	if fussy && chance() {
		lo, hi := some(), some()
		if lo > hi {
			lo, hi = hi, lo
		}
		switch rng.IntN(3) {
		case 0:
			add("valid_min", number(typ, lo))
		case 1:
			add("valid_max", number(typ, hi))
		default:
			both := cdf5.NewSlice(typ, 2)
			et, b, _ := elem.Of(both)
			elem.Store(b, elem.HostBig, et, []float64{lo, hi})
			add("valid_range", both)
		}
	}
	return v, data
}

// TestCombinations checks each element against independent arithmetic.
func TestCombinations(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for k := range crashtest.Times(500, 20000) {
		v, data := combination(rng, "")
		v.Name = fmt.Sprintf("v%d", k)
		num := func(name string) []float64 {
			a := cdf5.FindAtt(v.Atts, name)
			if a == nil {
				return nil
			}
			var out []float64
			for i := range a.Len() {
				out = append(out, toFloat(elem.At(a.Value, int(i))))
			}
			return out
		}
		m := MeaningOf(v)
		n, _, _ := cdf5.SliceLen(data)
		got := make([]float64, n)
		m.Decode(got, clone(data))
		wrap := 0.0
		if Text(v.Atts, "_Unsigned") == "true" {
			wrap = math.Pow(2, 8*float64(v.Type.Size()))
		}
		for i := range n {
			x := toFloat(elem.At(data, i))
			absent := slices.Contains(num("_FillValue"), x) || slices.Contains(num("missing_value"), x)
			if r := num("valid_range"); r != nil {
				absent = absent || x < r[0] || x > r[1]
			}
			if r := num("valid_min"); r != nil {
				absent = absent || x < r[0]
			}
			if r := num("valid_max"); r != nil {
				absent = absent || x > r[0]
			}
			if x < 0 {
				x += wrap
			}
			want := x
			if f := num("scale_factor"); f != nil {
				want *= f[0]
			}
			if f := num("add_offset"); f != nil {
				want += f[0]
			}
			rounding := 1e-12
			if m.Type() == elem.Float32 {
				rounding = 1e-6
			}
			if IsNone(got[i]) != absent || !absent && math.Abs(got[i]-want) > rounding*max(1, math.Abs(want)) {
				t.Fatalf("%v %+v: element %d, stored %v: %v, want %v, absent %v", v.Type, v.Atts, i, elem.At(data, i), got[i], want, absent)
			}
		}
	}
}

// TestJudgeMeaning checks that netCDF4-python and, where the rules agree, xarray find the same values for random attributes.
func TestJudgeMeaning(t *testing.T) {
	testfiles.Ask(t, "JUDGES")
	py := testfiles.JudgePython(t, "netCDF4", "numpy", "xarray")
	rng := rand.New(rand.NewPCG(5, 6))
	for _, judge := range []string{"netCDF4", "xarray"} {
		h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "n", Len: 12}}}
		var columns []any
		var vars []*blob.Variable
		for k := range 300 {
			v, data := combination(rng, judge)
			v.Name = fmt.Sprintf("v%d", k)
			h.Vars = append(h.Vars, cdf5.Var{Name: v.Name, Type: v.Type, Dims: []int{0}, Atts: v.Atts})
			columns, vars = append(columns, data), append(vars, v)
		}
		name := filepath.Join(t.TempDir(), "c.nc")
		if err := os.WriteFile(name, cdftest.Build(t, h, true, columns...), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(context.Background(), py, "-W", "ignore", "-c", `
import sys, json, numpy as np
name, judge = sys.argv[1:]
if judge == "netCDF4":
    import netCDF4
    d = netCDF4.Dataset(name)
    get = lambda n: np.ma.filled(np.ma.asarray(d[n][...]).astype(float), np.nan)
else:
    import xarray
    d = xarray.open_dataset(name, engine="netcdf4", decode_times=False)
    get = lambda n: d[n].values.astype(float)
print(json.dumps({n: [None if x != x else x for x in get(n).tolist()] for n in list(d.variables)}))`, name, judge).Output()
		if err != nil {
			t.Fatalf("%s: %v", judge, err)
		}
		var want map[string][]*float64
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		absent := 0
		for k, v := range vars {
			got := make([]float64, 12)
			MeaningOf(v).Decode(got, clone(columns[k]))
			for i, x := range got {
				w := want[v.Name][i]
				if w == nil {
					absent++
				}
				if (w == nil) != IsNone(x) || w != nil && math.Abs(x-*w) > 2e-6*max(1, math.Abs(x)) {
					t.Errorf("%s: %v %+v of %v: element %d is %v", judge, v.Type, v.Atts, columns[k], i, x)
					break
				}
			}
		}
		if absent < 50 {
			t.Errorf("%s: only %d elements have no value", judge, absent)
		}
	}
}
