package cf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/elem"
	"blobio/internal/fault"
)

// A Meaning is what the stored numbers of a variable stand for, by the conventions of CF and of the NetCDF Users Guide: stored
// numbers may be unsigned (_Unsigned), may stand for no value (_FillValue, missing_value, valid_range, valid_min, valid_max,
// the default fill value of the type), and may be packed (scale_factor, add_offset).
//
// These are its rules where conventions leave room. Numbers that stand for no value are compared as stored, exactly, after they were rounded to the
// type of the variable. Unpacked values are float32 if the packing is and what is stored fits, and double otherwise. A valid range has the type of
// the variable, or else, if it is wider and has the type of scale_factor or add_offset, it is one of unpacked values. Bytes have no default fill value. A range of bytes within 0 to 255 that goes beyond 127 says that they are unsigned.
type Meaning struct {
	// Err says why the numbers are taken as they are stored, in units that nobody knows; nil: their meaning is known.
	Err error
	// Notes are attributes that are not followed, with the reason.
	Notes []string

	name          string
	stored        elem.Type // in the file
	kind          elem.Type // as numbers: signed or unsigned
	scale, offset float64
	packed        bool
	single        bool     // unpacked values are float32
	factors       []string // as text
	rule          any      // *rule[T] of kind
}

// rule says which numbers of a type stand for no value.
type rule[T elem.Number] struct {
	none   []T // in order
	nan    bool
	lo, hi T // of those that are valid
	ranged bool
	empty  bool // none is valid
}

// MeaningOf reads the attributes of a variable of numbers.
func MeaningOf(v *blob.Variable) *Meaning {
	stored, _, _ := elem.Of(cdf5.NewSlice(v.Type, 0))
	m := &Meaning{name: v.Name, stored: stored, kind: stored, scale: 1}
	if v.Type == cdf5.Char {
		m.stored, m.kind = 0, 0
		return m
	}
	scale, err := m.factor(v, "scale_factor", 1)
	offset, err2 := m.factor(v, "add_offset", 0)
	if err == nil && scale == 0 {
		err = m.wrong("scale_factor is 0")
	}
	if err == nil {
		err = err2
	}
	if err == nil && (scale != 1 || offset != 0) {
		m.scale, m.offset, m.packed = scale, offset, true
		m.single = m.wider(v) == cdf5.Float && (m.stored.Size() < 4 || m.stored == elem.Float32)
	}
	m.Err = err
	if m.Err == nil {
		m.Err = m.sign(v)
	}
	switch m.kind { // the types
	case elem.Int8:
		m.rule = ruleOf[int8](m, v)
	case elem.Int16:
		m.rule = ruleOf[int16](m, v)
	case elem.Int32:
		m.rule = ruleOf[int32](m, v)
	case elem.Int64:
		m.rule = ruleOf[int64](m, v)
	case elem.Uint8:
		m.rule = ruleOf[uint8](m, v)
	case elem.Uint16:
		m.rule = ruleOf[uint16](m, v)
	case elem.Uint32:
		m.rule = ruleOf[uint32](m, v)
	case elem.Uint64:
		m.rule = ruleOf[uint64](m, v)
	case elem.Float32:
		m.rule = ruleOf[float32](m, v)
	default:
		m.rule = ruleOf[float64](m, v)
	}
	if m.Err != nil {
		m.scale, m.offset, m.packed = 1, 0, false
	}
	return m
}

// wrong is an error about the packing.
func (m *Meaning) wrong(format string, args ...any) error {
	return fault.Usage("%s: %s: the numbers are those stored, without units", m.name, fmt.Sprintf(format, args...))
}

// note tells of an attribute that is not followed.
func (m *Meaning) note(format string, args ...any) {
	m.Notes = append(m.Notes, m.name+": "+fmt.Sprintf(format, args...)+": it is not followed")
}

// factor is a number of the packing, which may be missing.
func (m *Meaning) factor(v *blob.Variable, name string, missing float64) (float64, error) {
	a := cdf5.FindAtt(v.Atts, name)
	if a == nil {
		return missing, nil
	}
	list, ok := wides(a)
	switch {
	case !ok:
		return missing, m.wrong("%s is text (%s), want a number", name, quoted(a))
	case len(list) != 1:
		return missing, m.wrong("%s has %d numbers, want 1", name, len(list))
	}
	x := float(list[0])
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return missing, m.wrong("%s is %v, want a finite number", name, x)
	}
	m.factors = append(m.factors, fmt.Sprintf("%s %v", name, elem.At(a.Value, 0)))
	return x, nil
}

// wider is the wider type of scale_factor and add_offset, which unpacked values have; 0 if there is neither.
func (m *Meaning) wider(v *blob.Variable) (t cdf5.Type) {
	for _, name := range []string{"scale_factor", "add_offset"} {
		if a := cdf5.FindAtt(v.Atts, name); a != nil && (t == 0 || a.Type.Size() > t.Size()) {
			t = a.Type
		}
	}
	return t
}

// sign finds out whether integers are signed.
func (m *Meaning) sign(v *blob.Variable) error {
	const name = "_Unsigned"
	if a := cdf5.FindAtt(v.Atts, name); a != nil {
		word := strings.ToLower(strings.TrimSpace(Text(v.Atts, name)))
		switch {
		case m.stored.Float():
			m.note("%s, but it holds %v", name, v.Type)
		case word == "true":
			m.kind = unsigned(m.stored)
		case word == "false":
			m.kind = signed(m.stored)
		default:
			return m.wrong("%s is %s, want \"true\" or \"false\"", name, quoted(a))
		}
		return nil
	}
	if m.stored == elem.Int8 {
		lo, hi, unpacked := m.limits(v, nil)
		if !unpacked && lo != nil && hi != nil && float(lo) >= 0 && float(hi) > 127 && float(hi) <= 255 {
			m.kind = elem.Uint8
		}
	}
	return nil
}

// unsigned and signed are the integer type of the same size.
func unsigned(t elem.Type) elem.Type {
	return map[elem.Type]elem.Type{elem.Int8: elem.Uint8, elem.Int16: elem.Uint16, elem.Int32: elem.Uint32, elem.Int64: elem.Uint64}[signed(t)]
}

func signed(t elem.Type) elem.Type {
	if s, ok := map[elem.Type]elem.Type{elem.Uint8: elem.Int8, elem.Uint16: elem.Int16, elem.Uint32: elem.Int32, elem.Uint64: elem.Int64}[t]; ok {
		return s
	}
	return t
}

// quoted is an attribute in a message.
func quoted(a *cdf5.Att) string {
	const most = 40
	s, ok := a.Value.(string)
	if !ok {
		return strings.Trim(fmt.Sprint(a.Value), "[]")
	}
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// wides are the numbers of an attribute as int64, uint64 or float64; ok is false for text.
func wides(a *cdf5.Att) (out []any, ok bool) {
	t, raw, ok := elem.Of(a.Value)
	if !ok || a.Type == cdf5.Char {
		return nil, false
	}
	n, big := len(raw)/t.Size(), elem.Float64
	switch {
	case !t.Float() && t.Signed():
		big = elem.Int64
	case !t.Float():
		big = elem.Uint64
	}
	as := big.Make(n)
	_, b, _ := elem.Of(as)
	elem.Store(b, elem.HostBig, big, a.Value)
	for i := range n {
		out = append(out, elem.At(as, i))
	}
	return out, true
}

// float is a number of wides as a float64.
func float(x any) float64 {
	switch y := x.(type) {
	case int64:
		return float64(y)
	case uint64:
		return float64(y)
	}
	return x.(float64)
}

// turned is a number of an attribute by the sign that stored numbers have: -1 of unsigned bytes is 255.
func (m *Meaning) turned(x any) any {
	bits := 8 * m.kind.Size()
	if f, ok := x.(float64); ok && f < 0 && f >= math.MinInt64 && f == math.Trunc(f) && m.kind != m.stored {
		x = int64(f)
	}
	switch y := x.(type) {
	case int64:
		if m.kind != m.stored && !m.kind.Signed() && y < 0 && y >= math.MinInt64>>(64-bits) {
			return uint64(y) << (64 - bits) >> (64 - bits)
		}
	case uint64:
		if m.kind != m.stored && m.kind.Signed() && y<<(64-bits)>>(64-bits) == y {
			return int64(y<<(64-bits)) >> (64 - bits)
		}
	}
	return x
}

// exact is a number as T. A float type rounds it; ok is false if an integer type does not have it.
func exact[T elem.Number](x any) (y T, ok bool) {
	if elem.IsFloat[T]() {
		f := float(x)
		y = T(f)
		return y, math.IsInf(f, 0) || !math.IsInf(float64(y), 0)
	}
	switch z := x.(type) {
	case int64:
		y = T(z)
		return y, int64(y) == z && (y < 0) == (z < 0)
	case uint64:
		y = T(z)
		return y, uint64(y) == z && y >= 0
	}
	switch f := x.(float64); {
	case f != math.Trunc(f):
		return 0, false
	case f >= math.MinInt64 && f < 1<<63:
		return exact[T](int64(f))
	case f >= 1<<63 && f < 1<<64:
		return exact[T](uint64(f))
	}
	return 0, false
}

// ruleOf reads what stands for no value.
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
		own = own || name == "_FillValue" && a.Type == v.Type && a.Len() == 1 // another one does not fill what nobody wrote
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
		const slack = 0.01 // of a step
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

// pack is a value as it would be stored, not yet rounded.
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

// limits are those of the valid range, nil where there is none, and whether they are of unpacked values. note tells of what is no limit.
func (m *Meaning) limits(v *blob.Variable, note func(format string, args ...any)) (lo, hi any, unpacked bool) {
	if note == nil {
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
				note("%s goes from %v to %v", x.name, list[0], list[1])
				continue
			}
			lo, hi = list[0], list[1]
		case "valid_min":
			lo = list[0]
		case "valid_max":
			hi = list[0]
		}
		unpacked = unpacked || m.ofUnpacked(v, a.Type)
	}
	if lo != nil && hi != nil && wideLess(m.turned(hi), m.turned(lo)) {
		note("the valid range goes from %v to %v", lo, hi)
		return nil, nil, false
	}
	return lo, hi, unpacked
}

// ofUnpacked says that a valid range of a type is one of unpacked values: it is wider than the variable, and the type of its packing.
func (m *Meaning) ofUnpacked(v *blob.Variable, t cdf5.Type) bool {
	if t == v.Type || t.Size() < v.Type.Size() {
		return false
	}
	return m.wider(v) == t
}

// wideLess compares numbers of wides.
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

// limit sets the ends of the valid range; nil: there is none.
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

// whole rounds a float to a whole number.
func whole(x any, round func(float64) float64) any {
	if f, ok := x.(float64); ok {
		return round(f)
	}
	return x
}

// ends are the least and the greatest number of a type.
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

// absent says that a stored number stands for no value.
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

// first is the index of the first number that stands for no value, or else how many there are.
func (r *rule[T]) first(src []T) int {
	if len(r.none) == 1 && !r.ranged && !r.nan { // as nearly always
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

// None stands in memory for an element without a value: a NaN that differs from those of data.
var None = math.Float64frombits(0x7ff8_0000_0f11_0f11)

// IsNone says that a value is None.
func IsNone(x float64) bool { return math.Float64bits(x) == math.Float64bits(None) }

// Read reads elements by a function that fills a slice with them as they are stored, and puts what they mean into dst: None where
// there is no value.
func (m *Meaning) Read(dst []float64, read func(stored any) error) error {
	stored := any(dst)
	if m.stored != elem.Float64 {
		stored = m.stored.Make(len(dst))
	}
	if err := read(stored); err != nil {
		return err
	}
	m.Decode(dst, stored)
	return nil
}

// Decode puts what stored numbers mean into dst, which is as long and may be the same slice: None where there is no value.
func (m *Meaning) Decode(dst []float64, stored any) {
	switch x := m.numbers(stored).(type) { // the types
	case []int8:
		decode(m, dst, x)
	case []int16:
		decode(m, dst, x)
	case []int32:
		decode(m, dst, x)
	case []int64:
		decode(m, dst, x)
	case []uint8:
		decode(m, dst, x)
	case []uint16:
		decode(m, dst, x)
	case []uint32:
		decode(m, dst, x)
	case []uint64:
		decode(m, dst, x)
	case []float32:
		decode(m, dst, x)
	case []float64:
		decode(m, dst, x)
	}
}

func decode[T elem.Number](m *Meaning, dst []float64, src []T) {
	r := m.rule.(*rule[T])
	for i, x := range src {
		if r.absent(x) {
			dst[i] = None
			continue
		}
		dst[i] = float64(x)*m.scale + m.offset
		if m.single {
			dst[i] = float64(float32(dst[i]))
		}
	}
}

// numbers are stored ones with their sign, in the same memory.
func (m *Meaning) numbers(stored any) any {
	if m.kind == m.stored {
		return stored
	}
	_, b, _ := elem.Of(stored)
	return m.kind.View(b)
}

// Values are the values among stored numbers, and how many of these stand for none. They have a type of their own if they are packed or
// unsigned, and may lie in the memory of stored.
func (m *Meaning) Values(stored any) (values any, absent int64) {
	switch x := m.numbers(stored).(type) { // the types
	case []int8:
		values, absent = present(m, x)
	case []int16:
		values, absent = present(m, x)
	case []int32:
		values, absent = present(m, x)
	case []int64:
		values, absent = present(m, x)
	case []uint8:
		values, absent = present(m, x)
	case []uint16:
		values, absent = present(m, x)
	case []uint32:
		values, absent = present(m, x)
	case []uint64:
		values, absent = present(m, x)
	case []float32:
		values, absent = present(m, x)
	case []float64:
		values, absent = present(m, x)
	}
	return values, absent
}

func present[T elem.Number](m *Meaning, src []T) (any, int64) {
	r := m.rule.(*rule[T])
	n := r.first(src)
	for _, x := range src[min(n+1, len(src)):] {
		if !r.absent(x) {
			src[n] = x
			n++
		}
	}
	absent := int64(len(src) - n)
	if !m.packed {
		return src[:n], absent
	}
	if m.single {
		return unpacked[float32](m, src[:n]), absent
	}
	return unpacked[float64](m, src[:n]), absent
}

func unpacked[D float32 | float64, T elem.Number](m *Meaning, src []T) []D {
	out := make([]D, len(src))
	for i, x := range src {
		out[i] = D(float64(x)*m.scale + m.offset)
	}
	return out
}

// Type is the type of the values.
func (m *Meaning) Type() elem.Type {
	switch {
	case m.single:
		return elem.Float32
	case m.packed:
		return elem.Float64
	}
	return m.kind
}

// Packed says that values are not the numbers that are stored.
func (m *Meaning) Packed() bool { return m.packed || m.kind != m.stored }

// String says how values follow from what is stored; "" if they are the same.
func (m *Meaning) String() string {
	var how []string
	switch {
	case m.kind == m.stored:
	case m.kind.Signed():
		how = append(how, "signed")
	default:
		how = append(how, "unsigned")
	}
	if m.packed {
		how = append(how, m.factors...)
	}
	if how == nil {
		return ""
	}
	return "unpacked values (" + strings.Join(how, ", ") + ")"
}

// Step is how far packed values are apart at least; 0 if they are not packed.
func (m *Meaning) Step() float64 {
	if !m.packed {
		return 0
	}
	return math.Abs(m.scale)
}

// Remarks are what a user has to know before believing the values: Err and Notes.
func (m *Meaning) Remarks() []string {
	if m.Err != nil {
		return append([]string{m.Err.Error()}, m.Notes...)
	}
	return m.Notes
}
