package cdf5

import (
	"bytes"
	"fmt"
	"slices"
)

// Diff tells how two headers differ in meaning: version, number of records,
// dimensions, attributes (values bit by bit) and variables, in order. VSize
// and Begin do not count. It returns nil when they are the same.
func Diff(a, b *Header) []string {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	if a.Version != b.Version {
		add("version: %v, %v", a.Version, b.Version)
	}
	if a.NumRecs != b.NumRecs {
		add("numrecs: %d, %d", a.NumRecs, b.NumRecs)
	}
	if len(a.Dims) != len(b.Dims) {
		add("dims: %d, %d", len(a.Dims), len(b.Dims))
	}
	for i := range min(len(a.Dims), len(b.Dims)) {
		if x, y := a.Dims[i], b.Dims[i]; x != y {
			add("dim[%d]: %q = %d, %q = %d", i, x.Name, x.Len, y.Name, y.Len)
		}
	}
	d = diffAtts(d, "global", a.Atts, b.Atts)
	if len(a.Vars) != len(b.Vars) {
		add("vars: %d, %d", len(a.Vars), len(b.Vars))
	}
	for i := range min(len(a.Vars), len(b.Vars)) {
		x, y := &a.Vars[i], &b.Vars[i]
		if x.Name != y.Name || x.Type != y.Type || !slices.Equal(x.Dims, y.Dims) {
			add("var[%d]: %v %q %v, %v %q %v", i, x.Type, x.Name, x.Dims, y.Type, y.Name, y.Dims)
		}
		d = diffAtts(d, fmt.Sprintf("var %q", x.Name), x.Atts, y.Atts)
	}
	return d
}

func diffAtts(d []string, of string, a, b []Att) []string {
	if len(a) != len(b) {
		d = append(d, fmt.Sprintf("%s: attributes: %d, %d", of, len(a), len(b)))
	}
	for i := range min(len(a), len(b)) {
		x, y := &a[i], &b[i]
		switch {
		case x.Name != y.Name || x.Type != y.Type:
			d = append(d, fmt.Sprintf("%s: attribute[%d]: %v %q, %v %q", of, i, x.Type, x.Name, y.Type, y.Name))
		case !sameValue(x.Value, y.Value):
			d = append(d, fmt.Sprintf("%s: attribute %q: %v, %v", of, x.Name, x.Value, y.Value))
		}
	}
	return d
}

// sameValue compares bits, so that a NaN equals itself.
func sameValue(a, b any) bool {
	s, ok := a.(string)
	if t, tok := b.(string); ok || tok {
		return ok == tok && s == t
	}
	x, xok := Bytes(a)
	y, yok := Bytes(b)
	_, xt, _ := SliceLen(a)
	_, yt, _ := SliceLen(b)
	return xok && yok && xt == yt && bytes.Equal(x, y)
}
