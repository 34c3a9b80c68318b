package fieldplot

import (
	"math"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/elem"
)

// A State says what an element holds.
type State string

const (
	Good    State = "value"
	Fill    State = "fill" // _FillValue, missing_value, or what nobody wrote
	NaN     State = "NaN"
	Nothing State = "none" // no element is there
)

// fills are the values of a variable that stand for no value.
type fills []float64

func fillsOf(v *blob.Variable) (out fills) {
	own := false
	for _, name := range []string{"_FillValue", "missing_value"} {
		a := cdf5.FindAtt(v.Atts, name)
		if a == nil || a.Type == cdf5.Char {
			continue
		}
		for i := range min(a.Len(), 8) {
			if x, ok := number(elem.At(a.Value, int(i))); ok {
				out = append(out, x)
			}
		}
		own = own || name == "_FillValue" && a.Type == v.Type
	}
	if !own && v.Type != cdf5.Byte && v.Type != cdf5.UByte {
		if x, ok := number(cdf5.FillValue(v.Type)); ok {
			out = append(out, x)
		}
	}
	return out
}

// state tells what a value is.
func (f fills) state(x float64) State {
	for _, v := range f {
		if x == v {
			return Fill
		}
	}
	if math.IsNaN(x) {
		return NaN
	}
	return Good
}

// number is a number of any type.
func number(v any) (float64, bool) {
	one, ok := elem.One(v)
	if !ok {
		return 0, false
	}
	switch x := one.(type) {
	case []int8:
		return float64(x[0]), true
	case []int16:
		return float64(x[0]), true
	case []int32:
		return float64(x[0]), true
	case []int64:
		return float64(x[0]), true
	case []uint8:
		return float64(x[0]), true
	case []uint16:
		return float64(x[0]), true
	case []uint32:
		return float64(x[0]), true
	case []uint64:
		return float64(x[0]), true
	case []float32:
		return float64(x[0]), true
	case []float64:
		return x[0], true
	}
	return 0, false
}

// stats are what is known of values.
type stats struct {
	n, fill, nan int64
	inf          int64
	lo, hi       float64 // of the finite ones; lo > hi: there are none
	positive     float64 // the least one above 0, infinite if there is none
	sum          float64
}

func newStats() stats { return stats{lo: math.Inf(1), hi: math.Inf(-1), positive: math.Inf(1)} }

// add looks at values, and makes those that are none NaN.
func (s *stats) add(values []float64, f fills) {
	for i, x := range values {
		s.n++
		switch f.state(x) {
		case Fill:
			s.fill++
			values[i] = none
			continue
		case NaN:
			s.nan++
			continue
		}
		if math.IsInf(x, 0) {
			s.inf++
			continue
		}
		s.lo, s.hi, s.sum = min(s.lo, x), max(s.hi, x), s.sum+x
		if x > 0 {
			s.positive = min(s.positive, x)
		}
	}
}

// finite is the number of values that have a place between the ends.
func (s *stats) finite() int64 { return s.n - s.fill - s.nan - s.inf }

// none stands in memory for elements without a value: a NaN that differs from those of data.
var none = math.Float64frombits(0x7ff8_0000_0f11_0f11)

// isNone says that a value is none.
func isNone(x float64) bool { return math.Float64bits(x) == math.Float64bits(none) }
