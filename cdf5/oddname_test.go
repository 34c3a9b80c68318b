package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"blobio/cdf5"
)

func named(dim, att, name, varAtt string) *cdf5.Header {
	return &cdf5.Header{
		Version: cdf5.CDF5,
		Dims:    []cdf5.Dim{{Name: dim, Len: 2}},
		Atts:    []cdf5.Att{{Name: att, Type: cdf5.Char, Value: "x"}},
		Vars:    []cdf5.Var{{Name: name, Type: cdf5.Int, Dims: []int{0}, Atts: []cdf5.Att{{Name: varAtt, Type: cdf5.Char, Value: "x"}}}},
	}
}

// TestOddNames: names that the netCDF libraries read but do not create are reported when they are read, and are written
// only with OddNames.
func TestOddNames(t *testing.T) {
	const decomposed = "unite\u0301"
	for want, h := range map[string]*cdf5.Header{
		``:                               named("x", "title", "T", "é"),
		`"\xe9" is not UTF-8`:            named("\xe9", "title", "T", "units"),
		`"t " ends with a space`:         named("x", "t ", "T", "units"),
		`".T" must begin with a letter`:  named("x", "title", ".T", "units"),
		`"\xb5" is not UTF-8`:            named("x", "title", "T", "\xb5"),
		`name of 300 bytes, want <= 256`: named("x", "title", strings.Repeat("T", 300), "units"),
		`"` + decomposed + `" is not in Unicode normal`: named("x", "title", "T", decomposed),
	} {
		if (h.Validate() == nil) != (want == "") {
			t.Errorf("%q: Validate: %v", want, h.Validate())
		}
		must(h.Layout(&cdf5.LayoutOptions{OddNames: true}))
		b := need(h.AppendTo(nil, binary.BigEndian, false))
		var notes []string
		got, _, err := cdf5.DecodeHeader(bytes.NewReader(b), h.FileSize(0), &cdf5.DecodeOptions{Note: func(e *cdf5.FormatError) { notes = append(notes, e.Msg) }})
		must(err)
		if all := strings.Join(notes, "|"); !strings.HasPrefix(all, want) || len(notes) > 1 || (want == "") != (all == "") {
			t.Errorf("%q: noted %q", want, all)
		}
		if v := got.Vars[0].Atts; strings.Contains(want, decomposed) && (cdf5.FindAtt(v, "unité") != &v[0] || cdf5.FindAtt(v, decomposed) != &v[0]) {
			t.Error("the attribute is not found in both forms of its name")
		}
	}
}

// TestUnopenable tests headers that netCDF-C and PnetCDF do not open.
func TestUnopenable(t *testing.T) {
	two := func(v cdf5.Version, n int64) *cdf5.Header {
		return &cdf5.Header{Version: v, Dims: []cdf5.Dim{{Name: "x", Len: n}}, Vars: []cdf5.Var{
			{Name: "a", Type: cdf5.Double, Dims: []int{0}}, {Name: "b", Type: cdf5.Double, Dims: []int{0}}}}
	}
	good, swapped, big := two(cdf5.CDF1, 3), two(cdf5.CDF1, 3), two(cdf5.CDF2, 1<<30)
	for _, h := range []*cdf5.Header{good, swapped} {
		must(h.Layout(nil))
	}
	swapped.Vars[0].Begin, swapped.Vars[1].Begin = swapped.Vars[1].Begin, swapped.Vars[0].Begin
	big.Vars[0].Begin, big.Vars[1].Begin = 100, 100+8<<30
	if err := good.Unopenable(); err != nil {
		t.Error(err)
	}
	for want, h := range map[string]*cdf5.Header{`"b" at 116 precedes var "a" at 140`: swapped, `the variable exceeds 4294967292 bytes`: big} {
		if err := h.Unopenable(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
