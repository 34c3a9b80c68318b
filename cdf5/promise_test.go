package cdf5_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"blobio/cdf5"
)

// TestFillAttribute: what was not written is the variable's _FillValue, if that is one value of its type, and the default if not.
func TestFillAttribute(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "x", Len: 3}}, Vars: []cdf5.Var{
		{Name: "own", Type: cdf5.Int, Dims: []int{1}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Int, Value: []int32{-7}}}},
		{Name: "record", Type: cdf5.Int, Dims: []int{0, 1}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Int, Value: []int32{-8}}}},
		{Name: "other", Type: cdf5.Int, Dims: []int{1}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Short, Value: []int16{-9}}}},
		{Name: "two", Type: cdf5.Int, Dims: []int{1}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Int, Value: []int32{-10, -10}}}},
		{Name: "none", Type: cdf5.Int, Dims: []int{1}},
	}}
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: true})
	if err != nil {
		t.Fatal(err)
	}
	for v := range h.Vars {
		start, count := []int64{1}, []int64{1}
		if v == 1 {
			start, count = []int64{1, 1}, []int64{1, 1}
		}
		if err := w.Write(v, start, count, []int32{5}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const def = -2147483647
	r := f.open(t)
	for v, want := range [][]int32{{-7, 5, -7}, {-8, -8, -8, -8, 5, -8}, {def, 5, def}, {def, 5, def}, {def, 5, def}} {
		if got, err := r.ReadAll(v); err != nil || !slices.Equal(got.([]int32), want) {
			t.Errorf("%s: %v, want %v: %v", h.Vars[v].Name, got, want, err)
		}
	}
}

// TestWriteNothingOfWhatDoesNotFit: a value that does not fit the type is found before any of its slice is written.
func TestWriteNothingOfWhatDoesNotFit(t *testing.T) {
	const n = 1 << 20
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: n}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Short, Dims: []int{0}}}}
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	src := make([]int32, n)
	for i := range src {
		src[i] = 1
	}
	src[n-1] = 1 << 20
	before := bytes.Clone(f.b)
	var re *cdf5.RangeError
	if err := w.Write(0, nil, nil, src); !errors.As(err, &re) || re.Index != n-1 {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(f.b, before) {
		t.Errorf("%d bytes were written", len(f.b))
	}
	src[n-1] = 2
	if err := errors.Join(w.Write(0, nil, nil, src), w.Close()); err != nil {
		t.Errorf("the writer is broken: %v", err)
	}
}

// TestLayoutEnds: two variables that together pass 2^63 bytes, and two unlimited dimensions, wherever they stand.
func TestLayoutEnds(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 1 << 62}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf5.Var{Name: name, Type: cdf5.Byte, Dims: []int{0}})
	}
	if err := h.Layout(nil); !errors.Is(err, cdf5.ErrTooLarge) {
		t.Errorf("2^63 bytes: %v", err)
	}
	for _, dims := range [][]cdf5.Dim{
		{{Name: "a"}, {Name: "b"}},
		{{Name: "x", Len: 1}, {Name: "a"}, {Name: "b"}},
	} {
		h := &cdf5.Header{Version: cdf5.CDF5, Dims: dims}
		if err := h.Validate(); !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%v: %v", dims, err)
		}
	}
}
