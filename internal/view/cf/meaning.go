package cf

import (
	"fmt"
	"math"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// A Meaning maps the stored numbers of a variable to values, by the CF conventions and the NetCDF Users Guide. Stored numbers may
// be unsigned (_Unsigned) or packed (scale_factor, add_offset). They may stand for no value (_FillValue, missing_value,
// valid_range, valid_min, valid_max, the default fill value of the type).
//
// Where the conventions are ambiguous, Meaning has these rules. Numbers that stand for no value are rounded to the variable's
// type, then compared exactly with stored numbers. Unpacked values are float32 if the packing is float32 and stored numbers fit,
// otherwise double. A valid range applies to stored numbers if it has the variable's type. It applies to unpacked values if it
// has a wider type that equals the type of scale_factor or add_offset. Bytes have no default fill value. Bytes are unsigned if
// their valid range is within 0 to 255 and exceeds 127.
type Meaning struct {
	// Err is the reason why stored numbers are used unchanged and without units. It is nil if the meaning of the numbers is
	// known.
	Err error
	// Notes describe attributes that are ignored, with the reasons.
	Notes []string

	name          string
	stored        elem.Type // type in the file
	kind          elem.Type // signed or unsigned interpretation
	scale, offset float64
	packed        bool
	single        bool     // unpacked values are float32
	factors       []string // the packing as text
	rule          absence  // *rule[T] for kind
}

// absence finds numbers that stand for no value, for one type.
type absence interface {
	decode(m *Meaning, dst []float64, numbers any)
	present(m *Meaning, numbers any) (values any, absent int64)
}

// MeaningOf reads the attributes of a numeric variable.
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

// wrong returns an error about the packing.
func (m *Meaning) wrong(format string, args ...any) error {
	return fault.Usage("%s: %s, so the stored numbers are used without units", m.name, fmt.Sprintf(format, args...))
}

// note adds a note about an ignored attribute.
func (m *Meaning) note(format string, args ...any) {
	m.Notes = append(m.Notes, m.name+": "+fmt.Sprintf(format, args...)+", so the attribute is ignored")
}

// factor returns a packing parameter, or missing if the variable lacks it.
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

// wider returns the wider type of scale_factor and add_offset, which is the type of unpacked values; 0 if there is neither.
func (m *Meaning) wider(v *blob.Variable) (t cdf5.Type) {
	for _, name := range []string{"scale_factor", "add_offset"} {
		if a := cdf5.FindAtt(v.Atts, name); a != nil && (t == 0 || a.Type.Size() > t.Size()) {
			t = a.Type
		}
	}
	return t
}

func (m *Meaning) sign(v *blob.Variable) error {
	const name = "_Unsigned"
	if a := cdf5.FindAtt(v.Atts, name); a != nil {
		word := strings.ToLower(strings.TrimSpace(Text(v.Atts, name)))
		switch {
		case m.stored.Float():
			m.note("%s is set, but the variable has type %v", name, v.Type)
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

// unsigned and signed return the integer type of the same size.
func unsigned(t elem.Type) elem.Type {
	return map[elem.Type]elem.Type{elem.Int8: elem.Uint8, elem.Int16: elem.Uint16, elem.Int32: elem.Uint32, elem.Int64: elem.Uint64}[signed(t)]
}

func signed(t elem.Type) elem.Type {
	if s, ok := map[elem.Type]elem.Type{elem.Uint8: elem.Int8, elem.Uint16: elem.Int16, elem.Uint32: elem.Int32, elem.Uint64: elem.Int64}[t]; ok {
		return s
	}
	return t
}

// Type returns the type of the values.
func (m *Meaning) Type() elem.Type {
	switch {
	case m.single:
		return elem.Float32
	case m.packed:
		return elem.Float64
	}
	return m.kind
}

// Packed reports whether values differ from the stored numbers.
func (m *Meaning) Packed() bool { return m.packed || m.kind != m.stored }

// String describes how values follow from stored numbers; "" if they are equal.
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

// Step returns the minimum distance of packed values; 0 if they are not packed.
func (m *Meaning) Step() float64 {
	if !m.packed {
		return 0
	}
	return math.Abs(m.scale)
}

func (m *Meaning) remarks() []string {
	if m.Err != nil {
		return append([]string{m.Err.Error()}, m.Notes...)
	}
	return m.Notes
}
