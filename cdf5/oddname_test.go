package cdf5_test

import (
	"strings"
	"testing"

	"blobio/cdf5"
)

func TestOddName(t *testing.T) {
	header := func(dim, att, name, varAtt string) *cdf5.Header {
		return &cdf5.Header{
			Version: cdf5.CDF5,
			Dims:    []cdf5.Dim{{Name: dim, Len: 2}},
			Atts:    []cdf5.Att{{Name: att, Type: cdf5.Char, Value: []byte("x")}},
			Vars:    []cdf5.Var{{Name: name, Type: cdf5.Int, Dims: []int{0}, Atts: []cdf5.Att{{Name: varAtt, Type: cdf5.Char, Value: []byte("x")}}}},
		}
	}
	if why := header("x", "title", "T", "é").OddName(); why != "" {
		t.Errorf("good names: %q", why)
	}
	for want, h := range map[string]*cdf5.Header{
		`dim: "\xe9" is not UTF-8`:            header("\xe9", "title", "T", "units"),
		`attribute: "t " ends in a space`:     header("x", "t ", "T", "units"),
		`var: ".T": want a letter`:            header("x", "title", ".T", "units"),
		`attribute: "\xb5" is not UTF-8 of T`: header("x", "title", "T", "\xb5"),
		`var: name of 300 bytes, want <= 256`: header("x", "title", strings.Repeat("T", 300), "units"),
	} {
		if got := h.OddName(); !strings.HasPrefix(got, want) {
			t.Errorf("OddName: %q, want %q...", got, want)
		}
		if h.Validate() == nil {
			t.Errorf("%s: Validate accepts it", want)
		}
	}
}
