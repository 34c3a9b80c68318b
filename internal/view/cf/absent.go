package cf

import (
	"fmt"
	"math"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// rule determines which numbers of a type stand for no value.
type rule[T elem.Number] struct {
	none   []T // in ascending order
	nan    bool
	lo, hi T // range of valid numbers
	ranged bool
	empty  bool // no number is valid
}

// ruleOf reads the attributes that mark missing values.
func ruleOf[T elem.Number](m *Meaning, v *blob.Variable) *rule[T] {
	r := &rule[T]{}
	own := false
	for _, name := range []string{"_FillValue", "missing_value"} {
		a := cdf5.FindAtt(v.Atts, name)
		if a == nil {
			continue
		}
		list, ok := wides(a)
		if !ok {
			m.note("%s is text (%s)", name, quoted(a))
			continue
		}
		for _, x := range list {
			if y, ok := exact[T](m.turned(x)); ok {
				r.add(y)
			}
		}
		own = own || name == "_FillValue" && a.Type == v.Type && a.Len() == 1 // unwritten elements have the value of _FillValue only if it has the type of the variable and one element
	}
	if x := cdf5.FillValue(v.Type); !own && m.stored.Size() > 1 && x != nil {
		if one, ok := elem.One(x); ok {
			list, _ := wides(&cdf5.Att{Type: v.Type, Value: one})
			if y, ok := exact[T](m.turned(list[0])); ok {
				r.add(y)
			}
		}
	}
	slices.Sort(r.none)
	r.none = slices.Compact(r.none)
	lo, hi, unpacked := m.limits(v, m.note)
	if unpacked && m.Err == nil {
		lo, hi = m.pack(lo), m.pack(hi)
		if m.scale < 0 {
			lo, hi = hi, lo
		}
		const slack = 0.01 // fraction of a step
		if !elem.IsFloat[T]() {
			if lo != nil {
				lo = math.Ceil(float(lo) - slack)
			}
			if hi != nil {
				hi = math.Floor(float(hi) + slack)
			}
		}
	} else if unpacked {
		lo, hi = nil, nil
	}
	if lo != nil || hi != nil {
		r.limit(m.turned(lo), m.turned(hi))
	}
	return r
}

// pack returns a value in packed form, not yet rounded.
func (m *Meaning) pack(x any) any {
	if x == nil {
		return nil
	}
	return (float(x) - m.offset) / m.scale
}

func (r *rule[T]) add(x T) {
	if x != x {
		r.nan = true
		return
	}
	r.none = append(r.none, x)
}

// limits returns the ends of the valid range, nil for a missing end, and whether they are unpacked values. limits calls note
// for attributes that are not valid limits.
func (m *Meaning) limits(v *blob.Variable, note func(format string, args ...any)) (lo, hi any, unpacked bool) {
	silent := note == nil
	if silent {
		note = func(string, ...any) {}
	}
	both := false
	for _, x := range []struct {
		name string
		n    int
	}{{"valid_range", 2}, {"valid_min", 1}, {"valid_max", 1}} {
		a := cdf5.FindAtt(v.Atts, x.name)
		if a == nil {
			continue
		}
		list, ok := wides(a)
		switch {
		case !ok:
			note("%s is text (%s)", x.name, quoted(a))
			continue
		case len(list) != x.n:
			note("%s has %d numbers, want %d", x.name, len(list), x.n)
			continue
		case slices.ContainsFunc(list, func(y any) bool { return math.IsNaN(float(y)) }):
			note("%s is NaN", x.name)
			continue
		}
		switch x.name {
		case "valid_range":
			if both = wideLess(m.turned(list[1]), m.turned(list[0])); both {
				note("%s runs from %v down to %v", x.name, list[0], list[1])
				continue
			}
			lo, hi = list[0], list[1]
		case "valid_min":
			lo = list[0]
		case "valid_max":
			hi = list[0]
		}
		of := m.ofUnpacked(v, a.Type)
		if m.packed && !of && !m.stored.Float() && (a.Type == cdf5.Float || a.Type == cdf5.Double) && !silent {
			m.Notes = append(m.Notes, fmt.Sprintf("%s: %s has type %v, but the unpacked type is %v, so it applies to stored numbers", m.name, x.name, a.Type, m.wider(v)))
		}
		unpacked = unpacked || of
	}
	if lo != nil && hi != nil && wideLess(m.turned(hi), m.turned(lo)) {
		note("the valid range runs from %v down to %v", lo, hi)
		return nil, nil, false
	}
	return lo, hi, unpacked
}

// ofUnpacked reports whether a valid range of type t applies to unpacked values: t is wider than the variable's type and equals
// the type of the packing.
func (m *Meaning) ofUnpacked(v *blob.Variable, t cdf5.Type) bool {
	if t == v.Type || t.Size() < v.Type.Size() {
		return false
	}
	return m.wider(v) == t
}

// wideLess reports whether a is less than b. Both are numbers that wides returned.
func wideLess(a, b any) bool {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return x < y
		}
		if y, ok := b.(uint64); ok {
			return x < 0 || uint64(x) < y
		}
	case uint64:
		if y, ok := b.(uint64); ok {
			return x < y
		}
		if y, ok := b.(int64); ok {
			return y >= 0 && x < uint64(y)
		}
	}
	return float(a) < float(b)
}

// limit sets the ends of the valid range; nil means no limit.
func (r *rule[T]) limit(lo, hi any) {
	least, most := ends[T]()
	r.ranged, r.lo, r.hi = true, least, most
	if lo != nil {
		if !elem.IsFloat[T]() {
			lo = whole(lo, math.Ceil)
		}
		switch x, ok := exact[T](lo); {
		case ok:
			r.lo = x
		case float(lo) > 0:
			r.empty = true
		}
	}
	if hi != nil {
		if !elem.IsFloat[T]() {
			hi = whole(hi, math.Floor)
		}
		switch x, ok := exact[T](hi); {
		case ok:
			r.hi = x
		case float(hi) < 0:
			r.empty = true
		}
	}
	r.empty = r.empty || r.lo > r.hi
}

// whole rounds a float to an integer.
func whole(x any, round func(float64) float64) any {
	if f, ok := x.(float64); ok {
		return round(f)
	}
	return x
}

// ends returns the minimum and maximum of a type.
func ends[T elem.Number]() (lo, hi T) {
	var zero T
	if elem.IsFloat[T]() {
		return T(math.Inf(-1)), T(math.Inf(1))
	}
	bits := 8 * len(elem.Bytes([]T{zero}))
	if elem.IsSigned[T]() {
		least := int64(math.MinInt64) >> (64 - bits)
		return T(least), T(-(least + 1))
	}
	most := uint64(math.MaxUint64) >> (64 - bits)
	return 0, T(most)
}

// absent reports whether a stored number stands for no value.
func (r *rule[T]) absent(x T) bool {
	if x != x {
		return r.nan
	}
	if r.ranged && (r.empty || x < r.lo || x > r.hi) {
		return true
	}
	const few = 4
	if len(r.none) > few {
		_, found := slices.BinarySearch(r.none, x)
		return found
	}
	for _, y := range r.none {
		if x == y {
			return true
		}
	}
	return false
}

// first returns the index of the first number that stands for no value, or the length of src.
func (r *rule[T]) first(src []T) int {
	if len(r.none) == 1 && !r.ranged && !r.nan { // the usual case
		if i := slices.Index(src, r.none[0]); i >= 0 {
			return i
		}
		return len(src)
	}
	for i, x := range src {
		if r.absent(x) {
			return i
		}
	}
	return len(src)
}
