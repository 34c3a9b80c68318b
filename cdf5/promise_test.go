package cdf5_test

import (
	"errors"
	"testing"

	"blobio/cdf5"
)

// TestLayoutEnds: two variables that together pass 2^63 bytes, one whose size wraps, and two unlimited dimensions, wherever they stand.
func TestLayoutEnds(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 1 << 62}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf5.Var{Name: name, Type: cdf5.Byte, Dims: []int{0}})
	}
	if err := h.Layout(nil); !errors.Is(err, cdf5.ErrTooLarge) {
		t.Errorf("2^63 bytes: %v", err)
	}
	h = &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 1 << 33}, {Name: "y", Len: 1 << 33}},
		Vars: []cdf5.Var{{Name: "v", Type: cdf5.Byte, Dims: []int{0, 1}}}}
	if err := h.Layout(nil); !errors.Is(err, cdf5.ErrTooLarge) { // 0 in 64 bits
		t.Errorf("2^66 bytes: %v", err)
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
