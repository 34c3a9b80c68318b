package dataset

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"blobio/cdf5"
)

// unlike is one difference of two schemas: a text, and the two values. A value is nil, an attribute's value or values, or
// lengths.
type unlike struct {
	Msg  string
	X, Y any
}

// Differ lists the differences of two schemas. Decompositions do not count, because they describe storage, not content. The
// order of dimensions counts if dims is true. The order of attributes and variables counts if all is true.
func (s *Schema) Differ(o *Schema, dims, all bool) (out []unlike) {
	say := func(format string, args ...any) { out = append(out, unlike{Msg: fmt.Sprintf(format, args...)}) }
	out = append(out, s.dimDiffs(o, dims || all)...)
	out = append(out, attDiffs("global", s.Atts, o.Atts, all)...)
	for i := range s.Vars {
		a := &s.Vars[i]
		k, ok := VarID(i), i < len(o.Vars) && o.Vars[i].Name == a.Name // usually both schemas have the same order
		if !ok {
			k, ok = o.VarID(a.Name)
		}
		if !ok {
			say("variable %q is only in the first", a.Name)
			continue
		}
		b := &o.Vars[k]
		if all && int(k) != i {
			say("variable %q: position %d against %d", a.Name, i, k)
			out[len(out)-1].X, out[len(out)-1].Y = int64(i), int64(k)
		}
		if a.Type != b.Type {
			say("variable %q: type %v against %v", a.Name, a.Type, b.Type)
		}
		if x, y := s.dimNames(a), o.dimNames(b); !slices.Equal(x, y) {
			say("variable %q: dimensions %v against %v", a.Name, x, y)
		}
		out = append(out, attDiffs(fmt.Sprintf("variable %q", a.Name), a.Atts, b.Atts, all)...)
	}
	for i := range o.Vars {
		if i < len(s.Vars) && s.Vars[i].Name == o.Vars[i].Name {
			continue
		}
		if _, ok := s.VarID(o.Vars[i].Name); !ok {
			say("variable %q is only in the second", o.Vars[i].Name)
		}
	}
	return out
}

// dimDiffs compares dimensions by name, and if ordered is true also by number.
func (s *Schema) dimDiffs(o *Schema, ordered bool) (out []unlike) {
	say := func(x, y any, format string, args ...any) {
		out = append(out, unlike{fmt.Sprintf(format, args...), x, y})
	}
	length := func(n int64) string {
		if n == Unlimited {
			return "unlimited"
		}
		return fmt.Sprintf("of length %d", n)
	}
	find := func(l []cdf5.Dim, i int, name string) int { // usually both lists have the same order
		if i < len(l) && l[i].Name == name {
			return i
		}
		return slices.IndexFunc(l, func(d cdf5.Dim) bool { return d.Name == name })
	}
	for i, d := range s.Dims {
		k := find(o.Dims, i, d.Name)
		switch {
		case k < 0:
			say(d.Len, nil, "dimension %q is only in the first", d.Name)
		case o.Dims[k].Len != d.Len:
			say(d.Len, o.Dims[k].Len, "dimension %q: %s against %s", d.Name, length(d.Len), length(o.Dims[k].Len))
		case ordered && k != i:
			say(int64(i), int64(k), "dimension %q: position %d against %d", d.Name, i, k)
		}
	}
	for i, d := range o.Dims {
		if find(s.Dims, i, d.Name) < 0 {
			say(nil, d.Len, "dimension %q is only in the second", d.Name)
		}
	}
	return out
}

func (s *Schema) dimNames(v *Variable) []string {
	names := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		names[i] = s.Dims[d].Name
	}
	return names
}

func attDiffs(what string, a, b []cdf5.Att, ordered bool) (out []unlike) {
	say := func(x, y any, format string, args ...any) {
		out = append(out, unlike{what + ": " + fmt.Sprintf(format, args...), x, y})
	}
	at := func(l []cdf5.Att, name string, i int) int { // usually both lists have the same order
		if i < len(l) && l[i].Name == name {
			return i
		}
		return slices.IndexFunc(l, func(a cdf5.Att) bool { return a.Name == name })
	}
	for i := range a {
		k := at(b, a[i].Name, i)
		if k < 0 {
			say(a[i].Value, nil, "attribute %q is only in the first", a[i].Name)
			continue
		}
		y := &b[k]
		switch {
		case a[i].Type != y.Type:
			say(a[i].Value, y.Value, "attribute %q: type %v against %v", a[i].Name, a[i].Type, y.Type)
		case !sameValue(a[i].Value, y.Value):
			say(a[i].Value, y.Value, "attribute %q: %s against %s", a[i].Name, short(a[i].Value), short(y.Value))
		case ordered && k != i:
			say(int64(i), int64(k), "attribute %q: position %d against %d", a[i].Name, i, k)
		}
	}
	for i := range b {
		if at(a, b[i].Name, i) < 0 {
			say(nil, b[i].Value, "attribute %q is only in the second", b[i].Name)
		}
	}
	return out
}

// sameValue compares attribute values; NaN equals NaN.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case []float64:
		y, ok := b.([]float64)
		return ok && slices.EqualFunc(x, y, func(p, q float64) bool { return p == q || p != p && q != q })
	case []float32:
		y, ok := b.([]float32)
		return ok && slices.EqualFunc(x, y, func(p, q float32) bool { return p == q || p != p && q != q })
	}
	return reflect.DeepEqual(a, b)
}

// short formats an attribute's value in about 60 bytes at most.
func short(v any) string {
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:57], "") + "..."
	}
	return text
}
