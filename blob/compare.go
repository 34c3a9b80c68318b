package blob

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"blobio/cdf5"
)

// differ lists the differences of two schemas, in words. Decompositions do
// not count: they say how the data lie, not what they are.
func (s *Schema) differ(o *Schema) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i := range max(len(s.dims), len(o.dims)) {
		switch {
		case i >= len(s.dims):
			say("dimension %q is only in the second", o.dims[i].Name)
		case i >= len(o.dims):
			say("dimension %q is only in the first", s.dims[i].Name)
		case s.dims[i] != o.dims[i]:
			say("dimension %d: %q of length %d against %q of length %d", i, s.dims[i].Name, s.dims[i].Len, o.dims[i].Name, o.dims[i].Len)
		}
	}
	out = append(out, attDiffs("global", s.atts, o.atts)...)
	for i := range s.vars {
		a := &s.vars[i]
		k, ok := VarID(i), i < len(o.vars) && o.vars[i].Name == a.Name // as a rule
		if !ok {
			k, ok = o.VarID(a.Name)
		}
		if !ok {
			say("variable %q is only in the first", a.Name)
			continue
		}
		b := &o.vars[k]
		if a.Type != b.Type {
			say("variable %q: type %v against %v", a.Name, a.Type, b.Type)
		}
		if x, y := s.dimNames(a), o.dimNames(b); !slices.Equal(x, y) {
			say("variable %q: dimensions %v against %v", a.Name, x, y)
		}
		out = append(out, attDiffs(fmt.Sprintf("variable %q", a.Name), a.Atts, b.Atts)...)
	}
	for i := range o.vars {
		if i < len(s.vars) && s.vars[i].Name == o.vars[i].Name {
			continue
		}
		if _, ok := s.VarID(o.vars[i].Name); !ok {
			say("variable %q is only in the second", o.vars[i].Name)
		}
	}
	return out
}

func (s *Schema) dimNames(v *Variable) []string {
	names := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		names[i] = s.dims[d].Name
	}
	return names
}

func attDiffs(what string, a, b []cdf5.Att) (out []string) {
	say := func(format string, args ...any) {
		out = append(out, what+": "+fmt.Sprintf(format, args...))
	}
	find := func(l []cdf5.Att, name string) *cdf5.Att {
		for i := range l {
			if l[i].Name == name {
				return &l[i]
			}
		}
		return nil
	}
	at := func(l []cdf5.Att, name string, i int) *cdf5.Att { // the order is the same as a rule
		if i < len(l) && l[i].Name == name {
			return &l[i]
		}
		return find(l, name)
	}
	for i := range a {
		y := at(b, a[i].Name, i)
		switch {
		case y == nil:
			say("attribute %q is only in the first", a[i].Name)
		case a[i].Type != y.Type:
			say("attribute %q: type %v against %v", a[i].Name, a[i].Type, y.Type)
		case !sameValue(a[i].Value, y.Value):
			say("attribute %q: %s against %s", a[i].Name, short(a[i].Value), short(y.Value))
		}
	}
	for i := range b {
		if at(a, b[i].Name, i) == nil {
			say("attribute %q is only in the second", b[i].Name)
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

// short writes an attribute's value in at most some 60 bytes.
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
