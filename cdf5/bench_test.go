package cdf5_test

import (
	"encoding/binary"
	"testing"

	"blobio/cdf5"
)

func BenchmarkHeader(b *testing.B) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "time"}, {Name: "ncol", Len: 866}}}
	for i := range 400 {
		name := "VAR" + string(rune('A'+i%26)) + string(rune('A'+i/26))
		h.Vars = append(h.Vars, cdf5.Var{Name: name, Type: cdf5.Float, Dims: []int{0, 1}, Atts: []cdf5.Att{
			{Name: "decomposition_ID", Type: cdf5.Int, Value: []int32{2}}, {Name: "global_dimids", Type: cdf5.Int, Value: []int32{0, 5}},
			{Name: "units", Type: cdf5.Char, Value: "kg/m2/s"}, {Name: "long_name", Type: cdf5.Char, Value: "Dust aerosol surface flux of " + name}}})
	}
	if err := h.Layout(nil); err != nil {
		b.Fatal(err)
	}
	enc, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(enc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.AppendTo(enc[:0], binary.BigEndian, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(enc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := decode(enc, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("layout", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := h.Layout(nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
