package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"blobio/cdf5"
)

var allTypes = []cdf5.Type{cdf5.Byte, cdf5.Char, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double,
	cdf5.UByte, cdf5.UShort, cdf5.UInt, cdf5.Int64, cdf5.UInt64}

func typesOf(v cdf5.Version) []cdf5.Type {
	if v == cdf5.CDF5 {
		return allTypes
	}
	return allTypes[:6]
}

// pattern returns n values of type t that are different for each seed and index, as far as the type has enough
// values. Text is printable.
func pattern(t cdf5.Type, seed, n int) any {
	s := cdf5.NewSlice(t, n)
	v := reflect.ValueOf(s)
	for i := range n {
		x := int64(seed*1009 + i*7)
		switch e := v.Index(i); {
		case t == cdf5.Char:
			e.SetUint(uint64('a' + x%26))
		case e.CanInt():
			x -= 300
			if bits := e.Type().Bits(); bits < 64 {
				x %= 1 << (bits - 1)
			}
			e.SetInt(x)
		case e.CanUint():
			if bits := e.Type().Bits(); bits < 64 {
				x %= 1 << bits
			}
			e.SetUint(uint64(x))
		default:
			e.SetFloat(float64(x) / 8)
		}
	}
	return s
}

// sampleAtts has one attribute of every type of the version. Some of their lengths need a pad.
func sampleAtts(v cdf5.Version) []cdf5.Att {
	atts := []cdf5.Att{
		{Name: "title", Type: cdf5.Char, Value: "a title"},
		{Name: "empty text", Type: cdf5.Char, Value: ""},
		{Name: "no_ints", Type: cdf5.Int, Value: []int32{}},
		{Name: "Größe", Type: cdf5.Double, Value: []float64{math.Pi}},
	}
	for _, t := range typesOf(v) {
		for n := 1; n <= 3; n++ {
			a := cdf5.Att{Name: fmt.Sprintf("%v_%d", t, n), Type: t}
			if t == cdf5.Char {
				a.Value = string(pattern(t, n, n).([]byte))
			} else {
				a.Value = pattern(t, n, n)
			}
			atts = append(atts, a)
		}
	}
	return atts
}

// sample has fixed and record variables of all types, a scalar, and a variable with its own fill value.
func sample(v cdf5.Version, records int64) *cdf5.Header {
	h := &cdf5.Header{Version: v, NumRecs: records, Atts: sampleAtts(v),
		Dims: []cdf5.Dim{{Name: "time"}, {Name: "y", Len: 3}, {Name: "x", Len: 5}}}
	for _, t := range typesOf(v) {
		h.Vars = append(h.Vars,
			cdf5.Var{Name: "f_" + t.String(), Type: t, Dims: []int{1, 2}, Atts: []cdf5.Att{{Name: "units", Type: cdf5.Char, Value: "m s-1"}}},
			cdf5.Var{Name: "r_" + t.String(), Type: t, Dims: []int{0, 2}},
			cdf5.Var{Name: "s_" + t.String(), Type: t})
	}
	h.Vars = append(h.Vars,
		cdf5.Var{Name: "own_fill", Type: cdf5.Float, Dims: []int{0, 1, 2}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Float, Value: []float32{-1e30}}}},
		cdf5.Var{Name: "time", Type: cdf5.Double, Dims: []int{0}})
	return h
}

func encode(t testing.TB, h *cdf5.Header) []byte {
	t.Helper()
	return need(h.AppendTo(nil, binary.BigEndian, false))
}

func decode(b []byte, o *cdf5.DecodeOptions) (*cdf5.Header, int64, error) {
	return cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), o)
}

// same reports whether two headers are equal except for VSize and Begin. Values are compared bit by bit.
func same(a, b *cdf5.Header) bool {
	var enc [2][]byte
	for i, h := range []*cdf5.Header{a, b} {
		c := *h
		c.Vars = slices.Clone(h.Vars)
		for v := range c.Vars {
			c.Vars[v].VSize = 0
		}
		var err error
		if enc[i], err = c.AppendTo(nil, binary.BigEndian, true); err != nil {
			return false
		}
	}
	return bytes.Equal(enc[0], enc[1])
}

// patterns returns, for each variable, the pattern of its index for all records.
func patterns(h *cdf5.Header) []any {
	values := make([]any, len(h.Vars))
	for v := range h.Vars {
		n := h.Elems(v)
		if h.IsRecord(v) {
			n *= h.NumRecs
		}
		values[v] = pattern(h.Vars[v].Type, v, int(n))
	}
	return values
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func need[T any](v T, err error) T {
	must(err)
	return v
}
