package elem_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"

	"blobio/internal/base/elem"
)

func all() (list []elem.Type) {
	for t := elem.Type(1); t.Valid(); t++ {
		list = append(list, t)
	}
	return list
}

// TestTypes: the properties of each type agree with Go's type of that name.
func TestTypes(t *testing.T) {
	if n := len(all()); n != 10 {
		t.Fatalf("%d types", n)
	}
	for _, e := range all() {
		s := e.Make(3)
		r := reflect.TypeOf(s).Elem()
		if e.String() != r.String() || e.Size() != int(r.Size()) || e.Align() != r.Align() || elem.Parse(r.String()) != e {
			t.Errorf("%v: size %d, alignment %d, slice of %v", e, e.Size(), e.Align(), r)
		}
		isFloat, isSigned := r.Kind() >= reflect.Float32, r.Kind() <= reflect.Int64 || r.Kind() >= reflect.Float32
		if e.Float() != isFloat || e.Signed() != isSigned {
			t.Errorf("%v: float %v, signed %v", e, e.Float(), e.Signed())
		}
		got, b, ok := elem.Of(s)
		if got != e || len(b) != 3*e.Size() || !ok {
			t.Errorf("%v: Of says %v, %d bytes, %v", e, got, len(b), ok)
		}
		for i := range b {
			b[i] = byte(i + 1)
		}
		same := e.View(b)
		if !reflect.DeepEqual(same, s) || &must(elem.Of(same))[0] != &b[0] {
			t.Errorf("%v: a view of %v is %v, or a copy", e, s, same)
		}
		odd := make([]byte, len(b)+17)[1:]
		copy(odd, b)
		if v := e.View(odd[:len(b)+e.Size()-1]); !reflect.DeepEqual(v, s) {
			t.Errorf("%v: a view of bytes that are not aligned is %v, want %v", e, v, s)
		} else if e.Align() > 1 && &must(elem.Of(v))[0] == &odd[0] {
			t.Errorf("%v at an odd address", e)
		}
		sub := elem.Sub(s, 1, 3)
		if m := must(elem.Of(sub)); &m[0] != &b[e.Size()] || len(m) != 2*e.Size() || !reflect.DeepEqual(elem.At(sub, 1), elem.At(s, 2)) {
			t.Errorf("%v: elements 1 and 2 of %v: %v", e, s, sub)
		}
		if none := elem.Sub(s, 3, 3); reflect.TypeOf(none) != reflect.TypeOf(s) || len(must(elem.Of(none))) != 0 {
			t.Errorf("%v: no elements: %#v", e, none)
		}
		x := elem.At(s, 1)
		if one, ok := elem.One(x); !ok || !reflect.DeepEqual(elem.At(one, 0), x) || reflect.TypeOf(one) != reflect.TypeOf(s) {
			t.Errorf("%v: One(%v) = %v, %v", e, x, one, ok)
		}
	}
	for _, no := range []elem.Type{0, all()[9] + 1, 255} {
		if no.Valid() || no.Size() != 0 || no.Make(1) != nil || no.View([]byte{1}) != nil || no.String() != fmt.Sprintf("Type(%d)", no) {
			t.Errorf("%d is a type", no)
		}
	}
	for _, no := range []any{nil, 1, "x", []string{"x"}, []int{1}, []uint{1}, []bool{true}} {
		if _, _, ok := elem.Of(no); ok {
			t.Errorf("%T has a type", no)
		}
	}
	type own float32
	for _, no := range []any{nil, 1, "x", own(1), []int8{1}} {
		if _, ok := elem.One(no); ok {
			t.Errorf("One of a %T", no)
		}
	}
	if elem.TypeOf[uint16]() != elem.Uint16 || elem.TypeOf[int]() != 0 || elem.TypeOf[own]() != 0 || elem.Parse("int") != 0 {
		t.Error("TypeOf or Parse")
	}
}

func must(_ elem.Type, b []byte, _ bool) []byte { return b }

// TestFixed: Fixed returns the same memory as []int and []uint.
func TestFixed(t *testing.T) {
	in, un := []int{1, -2}, []uint{3, 4}
	for _, v := range []any{in, un} {
		f := elem.Fixed(v)
		e, b, ok := elem.Of(f)
		if !ok || e.Size() != int(reflect.TypeOf(v).Elem().Size()) || fmt.Sprint(f) != fmt.Sprint(v) {
			t.Errorf("%T: %T %v", v, f, f)
		}
		b[0]++
	}
	if elem.HostBig == (in[0] == 2) || elem.HostBig == (un[0] == 4) {
		t.Errorf("a copy: %v %v", in, un)
	}
}

// TestReorder converts to the file's order and back, for each width, in place and into another slice.
func TestReorder(t *testing.T) {
	for _, e := range all() {
		src := make([]byte, 9*e.Size())
		for i := range src {
			src[i] = byte(7*i + 1)
		}
		for _, big := range []bool{false, true} {
			dst := make([]byte, len(src))
			elem.Reorder(dst, src, e.Size(), big)
			for i := range src {
				from := i
				if big != elem.HostBig {
					from = i - i%e.Size() + e.Size() - 1 - i%e.Size()
				}
				if dst[i] != src[from] {
					t.Fatalf("%v: byte %d is %d, want %d", e, i, dst[i], src[from])
				}
			}
			if elem.Reorder(dst, dst, e.Size(), big); !bytes.Equal(dst, src) {
				t.Errorf("%v: %v back, want %v", e, dst, src)
			}
		}
	}
	if (elem.HostOrder().Uint16([]byte{0, 1}) == 1) != elem.HostBig {
		t.Error("HostOrder")
	}
}

// edges returns the values around the limits of all types.
func edges() (list []*big.Float) {
	for _, e := range []uint{0, 7, 8, 15, 16, 31, 32, 53, 63, 64} {
		p := new(big.Float).SetPrec(200).SetMantExp(big.NewFloat(1), int(e))
		for _, d := range []float64{-1, -0.5, 0, 0.5, 1} {
			x := new(big.Float).SetPrec(200).Add(p, big.NewFloat(d))
			list = append(list, x, new(big.Float).Neg(x))
		}
	}
	for _, f := range []float64{0, math.MaxFloat32, math.MaxFloat32 * 1.0000001, math.MaxFloat64, 1e-300} {
		list = append(list, big.NewFloat(f).SetPrec(200), big.NewFloat(-f).SetPrec(200))
	}
	return list
}

func number(x any) *big.Float {
	v, f := reflect.ValueOf(x), new(big.Float).SetPrec(200)
	switch {
	case v.CanInt():
		return f.SetInt64(v.Int())
	case v.CanUint():
		return f.SetUint64(v.Uint())
	}
	return f.SetFloat64(v.Float())
}

// holding returns x as an element of type e, if e holds it exactly.
func holding(e elem.Type, x *big.Float) (any, bool) {
	p := reflect.New(reflect.TypeOf(e.Make(0)).Elem()).Elem()
	switch {
	case e.Float():
		f, _ := x.Float64()
		p.SetFloat(f)
	case e.Signed():
		i, _ := x.Int64()
		p.SetInt(i)
	default:
		u, _ := x.Uint64()
		p.SetUint(u)
	}
	v := p.Interface()
	if f := p; e.Float() && math.IsInf(f.Float(), 0) {
		return nil, false
	}
	return v, number(v).Cmp(x) == 0
}

// TestConversions compares the conversions of each pair of types with 200-bit arithmetic, at the limits of all types.
func TestConversions(t *testing.T) {
	for _, from := range all() {
		for _, to := range all() {
			fits := 0
			for _, x := range edges() {
				v, ok := holding(from, x)
				if !ok {
					continue
				}
				src, _ := elem.One(v)
				want := x
				fit := true
				switch {
				case to == elem.Float32:
					f, _ := x.Float32()
					fit = !math.IsInf(float64(f), 0) && new(big.Float).Abs(x).Cmp(number(float32(math.MaxFloat32))) <= 0
					want = number(f)
					if !fit {
						want = nil
					}
				case to == elem.Float64:
					f, _ := x.Float64()
					want = number(f)
				default: // first check the range, then drop the fraction
					lo, hi := bounds(to)
					fit = x.Cmp(lo) >= 0 && x.Cmp(hi) <= 0
					i, _ := x.Int(nil)
					want = new(big.Float).SetPrec(200).SetInt(i)
				}
				b := make([]byte, to.Size())
				dst := to.Make(1)
				back, file := to.Make(1), make([]byte, from.Size())
				_, mem, _ := elem.Of(src)
				elem.Reorder(file, mem, from.Size(), true)
				bad, odd := elem.Load(dst, file, true, from)
				if elem.Store(b, true, to, src) < 0 != fit || bad < 0 != fit || elem.Check(to, src) < 0 != fit {
					t.Fatalf("%v %v to %v: fits %v: Store, Load (%d), Check (%d)", from, v, to, fit, bad, elem.Check(to, src))
				}
				if !fit {
					if odd != v {
						t.Fatalf("%v %v to %v: Load names %v", from, v, to, odd)
					}
					continue
				}
				fits++
				elem.Reorder(must(elem.Of(back)), b, to.Size(), true)
				if got := elem.At(dst, 0); number(got).Cmp(want) != 0 || elem.At(back, 0) != got {
					t.Fatalf("%v %v to %v: %v, %v, want %v", from, v, to, got, elem.At(back, 0), want)
				}
				if n := number(elem.At(dst, 0)); to.Holds(from) && n.Cmp(x) != 0 {
					t.Fatalf("%v does not hold %v %v", to, from, v)
				}
			}
			if fits == 0 {
				t.Errorf("%v to %v: no value fits", from, to)
			}
		}
	}
}

func bounds(e elem.Type) (lo, hi *big.Float) {
	f := func() *big.Float { return new(big.Float).SetPrec(200) }
	bits := 8 * e.Size()
	if e.Signed() {
		p := f().SetMantExp(big.NewFloat(1), bits-1)
		return f().Neg(p), f().Sub(p, big.NewFloat(1))
	}
	return f(), f().Sub(f().SetMantExp(big.NewFloat(1), bits), big.NewFloat(1))
}

// TestHolds: Holds is true for exactly the conversions without failure or loss.
func TestHolds(t *testing.T) {
	holds := map[elem.Type]string{
		elem.Int8: "int8", elem.Int16: "int8 int16 uint8", elem.Int32: "int8 int16 int32 uint8 uint16",
		elem.Int64: "int8 int16 int32 int64 uint8 uint16 uint32", elem.Uint8: "uint8", elem.Uint16: "uint8 uint16",
		elem.Uint32: "uint8 uint16 uint32", elem.Uint64: "uint8 uint16 uint32 uint64", elem.Float32: "float32", elem.Float64: "float32 float64",
	}
	for _, e := range all() {
		s := ""
		for _, v := range all() {
			if e.Holds(v) {
				s += " " + v.String()
			}
		}
		if s != " "+holds[e] {
			t.Errorf("%v holds%s, want %s", e, s, holds[e])
		}
	}
}

// TestPastTheFirstBlock: a value that does not fit is found at any index.
func TestPastTheFirstBlock(t *testing.T) {
	src := make([]int16, 2000)
	for _, at := range []int{0, 511, 512, 1999} {
		src[at] = 300
		dst, b := make([]uint8, 2000), make([]byte, 2000)
		_, mem, _ := elem.Of(src)
		bad, v := elem.Load(dst, mem, elem.HostBig, elem.Int16)
		if x, y := elem.Store(b, false, elem.Uint8, src), elem.Check(elem.Uint8, src); x != at || y != at || bad != at || v != int16(300) {
			t.Errorf("element %d does not fit, found %d %d %d %v", at, x, y, bad, v)
		}
		src[at] = 0
	}
}
