package cdf5_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
)

const (
	justOver32 = math.MaxFloat32 * (1 + 1e-9) // above MaxFloat32, but rounds to it
	two63      = 1 << 63
)

func TestRangeRules(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		t    cdf5.Type
		src  any
		want any // the converted values; nil if the last element is out of range and all others fit
	}{
		{cdf5.Byte, []float64{127, -128, 126.9, -127.9}, []int8{127, -128, 126, -127}},
		{cdf5.Byte, []float64{0, 127.5}, nil}, // compared before the fraction is dropped, as in netCDF
		{cdf5.Byte, []float64{-128.5}, nil},
		{cdf5.UByte, []float64{255, 0, 0.9}, []uint8{255, 0, 0}},
		{cdf5.UByte, []float64{-0.5}, nil},
		{cdf5.Short, []float32{1, nan32()}, nil},
		{cdf5.Int, []float64{inf}, nil},
		{cdf5.Int, []float64{-inf}, nil},
		{cdf5.Int, []float64{math.MaxInt32, math.MinInt32}, []int32{math.MaxInt32, math.MinInt32}},
		{cdf5.Int, []int64{1 << 31}, nil},
		{cdf5.Int, []int64{-1 << 31}, []int32{math.MinInt32}},
		{cdf5.UInt, []int64{1<<32 - 1}, []uint32{math.MaxUint32}},
		{cdf5.UInt, []int8{-1}, nil},
		{cdf5.Int64, []float64{two63}, nil},
		{cdf5.Int64, []float64{-two63, math.Nextafter(two63, 0)}, []int64{math.MinInt64, two63 - 1024}},
		{cdf5.Int64, []uint64{1, two63}, nil},
		{cdf5.UInt64, []float64{two63, math.Nextafter(2*two63, 0)}, []uint64{two63, 1<<64 - 2048}},
		{cdf5.UInt64, []float64{2 * two63}, nil},
		{cdf5.UInt64, []float32{2 * two63}, nil},
		{cdf5.UInt64, []int64{3, -3}, nil},
		{cdf5.UInt64, []int{7}, []uint64{7}},
		{cdf5.Short, []uint{32767}, []int16{32767}},
		{cdf5.Short, []uint{32768}, nil},
		{cdf5.Float, []float64{math.MaxFloat32, -math.MaxFloat32, inf, -inf}, []float32{math.MaxFloat32, -math.MaxFloat32, float32(inf), float32(-inf)}},
		{cdf5.Float, []float64{1, justOver32}, nil},
		{cdf5.Float, []float64{-1e39}, nil},
		{cdf5.Float, []int64{1<<24 + 1}, []float32{1 << 24}}, // is rounded
		{cdf5.Double, []float32{0.5}, []float64{0.5}},
		{cdf5.Double, []uint64{1 << 63}, []float64{1 << 63}},
		{cdf5.Int, []float32{}, []int32{}},
		{cdf5.Char, "text", []byte("text")},
		{cdf5.Char, []byte("text"), []byte("text")},
	} {
		t.Run(fmt.Sprintf("%v_from_%T%v", c.t, c.src, c.src), func(t *testing.T) {
			n, _, _ := cdf5.SliceLen(c.src)
			for _, bigEndian := range []bool{true, false} {
				file := make([]byte, n*c.t.Size())
				err := cdf5.ToFile(file, bigEndian, c.t, c.src)
				check := cdf5.CheckRange(c.t, c.src)
				if (err == nil) != (check == nil) || (err == nil) != (c.want != nil) {
					t.Fatalf("ToFile: %v, CheckRange: %v, want values %v", err, check, c.want)
				}
				if c.want == nil {
					for _, err := range []error{err, check} {
						var re *cdf5.RangeError
						last := reflect.ValueOf(c.src).Index(n - 1).Interface()
						if !errors.As(err, &re) || !errors.Is(err, cdf5.ErrRange) || re.Index != int64(n-1) || re.Type != c.t ||
							fmt.Sprint(re.Value) != fmt.Sprint(last) {
							t.Errorf("error %v, want element %d, %v", err, n-1, last)
						}
					}
					continue
				}
				got := cdf5.NewSlice(c.t, n)
				must(cdf5.FromFile(got, file, bigEndian, c.t))
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
			}
		})
	}
}

func nan32() float32 { return float32(math.NaN()) }

func TestConvertUsage(t *testing.T) {
	buf := make([]byte, 8)
	for name, err := range map[string]error{
		"text to numbers":   cdf5.ToFile(buf, true, cdf5.Int, "text"),
		"numbers to text":   cdf5.ToFile(buf, true, cdf5.Char, []int32{1}),
		"text from numbers": cdf5.FromFile([]int8{0}, buf, true, cdf5.Char),
		"into a string":     cdf5.FromFile("x", buf, true, cdf5.Char),
		"no slice":          cdf5.ToFile(buf, true, cdf5.Int, 7),
		"nil":               cdf5.CheckRange(cdf5.Int, nil),
		"no type":           cdf5.ToFile(buf, true, 12, []int32{1}),
		"type 0":            cdf5.FromFile([]int32{1}, buf, true, 0),
		"short destination": cdf5.ToFile(buf, true, cdf5.Double, []float64{1, 2}),
		"short source":      cdf5.FromFile([]int16{1, 2, 3, 4, 5}, buf, true, cdf5.Short),
	} {
		if !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", name, err)
		}
	}
}

// fits checks the range rule in exact arithmetic.
func fits(t cdf5.Type, v any) bool {
	var x *big.Float
	switch f := v.(type) {
	case float32:
		if t == cdf5.Float || t == cdf5.Double {
			return true
		}
		if f != f || math.IsInf(float64(f), 0) {
			return false
		}
		x = new(big.Float).SetFloat64(float64(f))
	case float64:
		if t == cdf5.Double {
			return true
		}
		if f != f || math.IsInf(f, 0) {
			return t == cdf5.Float
		}
		if t == cdf5.Float {
			return math.Abs(f) <= math.MaxFloat32
		}
		x = new(big.Float).SetFloat64(f)
	default:
		if t == cdf5.Float || t == cdf5.Double {
			return true
		}
		x, _ = new(big.Float).SetPrec(64).SetString(fmt.Sprint(v))
	}
	bits := uint(t.Size() * 8)
	lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits)
	if t == cdf5.Byte || t == cdf5.Short || t == cdf5.Int || t == cdf5.Int64 {
		lo.Neg(lo.Lsh(big.NewInt(1), bits-1))
		hi.Lsh(big.NewInt(1), bits-1)
	}
	hi.Sub(hi, big.NewInt(1))
	asFloat := func(i *big.Int) *big.Float { return new(big.Float).SetPrec(80).SetInt(i) }
	return x.Cmp(asFloat(lo)) >= 0 && x.Cmp(asFloat(hi)) <= 0
}

// memory draws a slice of any memory type with values at and near limits.
func memory(t *rapid.T, n int) any {
	float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), justOver32,
		math.MaxFloat32, two63, -two63, 2 * two63, 255, 255.5, -0.5, 127.5, -128.5, 65535, 32767, 4294967295, 4294967295.5, 2147483647.5}))
	edge := rapid.OneOf(rapid.Uint64(), rapid.Custom(func(t *rapid.T) uint64 {
		// Powers of two, and the bits that decide rounding to 24 or 53 bits.
		k := rapid.SampledFrom([]int{0, 7, 8, 15, 16, 31, 32, 46, 47, 53, 54, 63}).Draw(t, "bit")
		x := uint64(1)<<k + uint64(rapid.IntRange(-1, 1).Draw(t, "step"))
		for _, below := range []int{23, 24, 25, 52, 53} {
			if k > below && rapid.Bool().Draw(t, "bit below") {
				x ^= 1 << (k - below)
			}
		}
		if rapid.Bool().Draw(t, "negative") {
			return -x
		}
		return x
	}))
	s := rapid.SampledFrom([]any{make([]int8, n), make([]int16, n), make([]int32, n), make([]int64, n), make([]int, n), make([]uint8, n),
		make([]uint16, n), make([]uint32, n), make([]uint64, n), make([]uint, n), make([]float32, n), make([]float64, n)}).Draw(t, "slice")
	v := reflect.ValueOf(s)
	for i := range n {
		switch e := v.Index(i); {
		case e.CanFloat():
			e.SetFloat(float.Draw(t, "float"))
		case e.CanInt():
			e.Set(reflect.ValueOf(edge.Draw(t, "int")).Convert(e.Type()))
		default:
			e.Set(reflect.ValueOf(edge.Draw(t, "uint")).Convert(e.Type()))
		}
	}
	return s
}

// converted converts v to t. Integers convert to floats in exact arithmetic, because reflect rounds them twice.
func converted(v reflect.Value, t reflect.Type) any {
	x := new(big.Float).SetPrec(64)
	switch {
	case v.CanInt():
		x.SetInt64(v.Int())
	case v.CanUint():
		x.SetUint64(v.Uint())
	}
	switch k := t.Kind(); {
	case !v.CanFloat() && k == reflect.Float32:
		f, _ := x.Float32()
		return f
	case !v.CanFloat() && k == reflect.Float64:
		f, _ := x.Float64()
		return f
	}
	return v.Convert(t).Interface()
}

// TestConvertProperties compares ToFile and FromFile for all pairs of types with exact arithmetic.
func TestConvertProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(allTypes).Filter(func(x cdf5.Type) bool { return x != cdf5.Char }).Draw(t, "type")
		src := memory(t, rapid.IntRange(0, 6).Draw(t, "n"))
		bigEndian := rapid.Bool().Draw(t, "big")
		v := reflect.ValueOf(src)
		bad := -1
		for i := 0; i < v.Len() && bad < 0; i++ {
			if !fits(typ, v.Index(i).Interface()) {
				bad = i
			}
		}
		file := make([]byte, v.Len()*typ.Size())
		err := cdf5.ToFile(file, bigEndian, typ, src)
		var re *cdf5.RangeError
		if bad >= 0 {
			if !errors.As(err, &re) || re.Index != int64(bad) {
				t.Fatalf("%T to %v: %v, want element %d", src, typ, err, bad)
			}
			return
		}
		if err != nil {
			t.Fatalf("%T %v to %v: %v", src, src, typ, err)
		}
		exact := cdf5.NewSlice(typ, v.Len())
		must(cdf5.FromFile(exact, file, bigEndian, typ))
		for i := range v.Len() {
			want := converted(v.Index(i), reflect.TypeOf(exact).Elem())
			if got := reflect.ValueOf(exact).Index(i).Interface(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%T %v to %v: element %d is %v, want %v", src, src, typ, i, got, want)
			}
		}
		// Converting back must restore every value that fits.
		back := reflect.MakeSlice(v.Type(), v.Len(), v.Len()).Interface()
		err = cdf5.FromFile(back, file, bigEndian, typ)
		want := cdf5.CheckRange(mustType(back), exact)
		if _, isInt := src.([]int); isInt || mustType(back) == cdf5.UInt64 && reflect.TypeOf(src).Elem().Kind() == reflect.Uint {
			return // the range of int and uint depends on the machine, so CheckRange cannot check it
		}
		if (err == nil) != (want == nil) {
			t.Fatalf("%v back to %T: %v, CheckRange says %v", exact, src, err, want)
		}
	})
}

func mustType(s any) cdf5.Type { _, t, _ := cdf5.SliceLen(s); return t }

// TestConvertBlocks: the index in an error counts from the start of the slice, even across conversion blocks.
func TestConvertBlocks(t *testing.T) {
	const n, bad = 5000, 4321
	src := make([]float64, n)
	for i := range src {
		src[i] = float64(i)
	}
	file := make([]byte, 4*n)
	if err := cdf5.ToFile(file, true, cdf5.Int, src); err != nil {
		t.Fatal(err)
	}
	back := make([]float64, n)
	if err := cdf5.FromFile(back, file, true, cdf5.Int); err != nil || !reflect.DeepEqual(back, src) {
		t.Fatalf("came back different: %v", err)
	}
	src[bad] = 1e10
	var re *cdf5.RangeError
	if err := cdf5.ToFile(file, true, cdf5.Int, src); !errors.As(err, &re) || re.Index != bad {
		t.Errorf("ToFile: %v, want element %d", err, bad)
	}
	if err := cdf5.CheckRange(cdf5.Short, src); !errors.As(err, &re) || re.Index != bad {
		t.Errorf("CheckRange: %v, want element %d", err, bad)
	}
	small := make([]int8, n)
	if err := cdf5.FromFile(small, file, true, cdf5.Int); !errors.As(err, &re) || re.Index != 128 || re.Type != cdf5.Byte {
		t.Errorf("FromFile: %v, want element 128 not to fit byte", err)
	}
}

func TestFill(t *testing.T) {
	for _, typ := range allTypes {
		b := make([]byte, 3*typ.Size()+1)
		cdf5.FillBytes(b, typ, nil, nil)
		if typ == cdf5.Char {
			continue
		}
		got := cdf5.NewSlice(typ, 3)
		must(cdf5.FromFile(got, b, true, typ))
		for i := range 3 {
			if x := reflect.ValueOf(got).Index(i).Interface(); x != cdf5.FillValue(typ) {
				t.Errorf("%v[%d]: %v, want %v", typ, i, x, cdf5.FillValue(typ))
			}
		}
		if b[len(b)-1] != b[0] {
			t.Errorf("%v: a part of an element is %#x, want %#x", typ, b[len(b)-1], b[0])
		}
	}
	att := func(typ cdf5.Type, value any) *cdf5.Att {
		return &cdf5.Att{Name: "_FillValue", Type: typ, Value: value}
	}
	for what, c := range map[string]struct {
		typ  cdf5.Type
		att  *cdf5.Att
		want string
	}{
		"own":             {cdf5.Short, att(cdf5.Short, []int16{0x102}), "\x01\x02\x01\x02"},
		"of another type": {cdf5.Short, att(cdf5.Int, []int32{0x102}), "\x80\x01\x80\x01"},
		"two":             {cdf5.Short, att(cdf5.Short, []int16{1, 2}), "\x80\x01\x80\x01"},
		"float":           {cdf5.Float, nil, "\x7c\xf0\x00\x00"},
	} {
		b := make([]byte, 4)
		if cdf5.FillBytes(b, c.typ, nil, c.att); string(b) != c.want {
			t.Errorf("%s: % x, want % x", what, b, c.want)
		}
	}
}
