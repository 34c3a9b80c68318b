package stats

import (
	"math"

	"blobio/internal/elem"
)

// Summary is what is known of some elements.
type Summary struct {
	Values   int64 // that are neither fill values nor NaN
	Fill     int64 // fill values
	NaN      int64 // that are not the fill value
	Min, Max any   // of the values, of their type in memory; nil without values

	sum, rest float64 // of the values, and what rounding has left out of it
}

// Mean returns the mean of the values, NaN without any.
func (s *Summary) Mean() float64 {
	if s.Values == 0 {
		return math.NaN()
	}
	if sum := s.sum + s.rest; !math.IsNaN(sum) {
		return sum / float64(s.Values)
	}
	return s.sum / float64(s.Values) // of infinities nothing is left out
}

// add adds to the sum what is lost by rounding, too (Neumaier).
func (s *Summary) add(x float64) {
	t := s.sum + x
	if math.Abs(s.sum) >= math.Abs(x) {
		s.rest += s.sum - t + x
	} else {
		s.rest += x - t + s.sum
	}
	s.sum = t
}

// Join adds what is known of other elements of the same type.
func (s *Summary) Join(o *Summary) {
	s.Fill += o.Fill
	s.NaN += o.NaN
	if o.Values == 0 {
		return
	}
	if s.Values == 0 || less(o.Min, s.Min) {
		s.Min = o.Min
	}
	if s.Values == 0 || less(s.Max, o.Max) {
		s.Max = o.Max
	}
	s.Values += o.Values
	s.add(o.sum)
	s.add(o.rest)
}

// less compares values of one type.
func less(a, b any) bool {
	switch x := a.(type) {
	case int64:
		return x < b.(int64)
	case uint64:
		return x < b.(uint64)
	}
	return a.(float64) < b.(float64)
}

// wide is a value as int64, uint64 or float64.
func wide[T elem.Number](x T) any {
	switch y := any(x).(type) {
	case float32:
		return float64(y)
	case float64:
		return y
	case uint64:
		return y
	}
	return int64(x)
}

// of sums up a slice. fill is a slice of one fill value of the same type, or nil.
func of(data, fill any) Summary {
	switch x := data.(type) {
	case []int8:
		return scan(x, fill)
	case []uint8:
		return scan(x, fill)
	case []int16:
		return scan(x, fill)
	case []uint16:
		return scan(x, fill)
	case []int32:
		return scan(x, fill)
	case []uint32:
		return scan(x, fill)
	case []int64:
		return scan(x, fill)
	case []uint64:
		return scan(x, fill)
	case []float32:
		return scan(x, fill)
	}
	return scan(data.([]float64), fill)
}

// block is how many values are summed at a time before what rounding leaves out is looked at: the error of so few is below that of
// the mean's last digit.
const block = 128

func scan[T elem.Number](data []T, fill any) (s Summary) {
	var never T
	f, has := fill.([]T)
	if has {
		never = f[0]
	}
	nan := never != never
	var lo, hi T
	for len(data) > 0 {
		some := data[:min(block, len(data))]
		data = data[len(some):]
		sum := 0.0
		for _, x := range some {
			switch {
			case has && x == never:
				s.Fill++
			case x != x && has && nan:
				s.Fill++
			case x != x:
				s.NaN++
			default:
				if s.Values == 0 {
					lo, hi = x, x
				}
				s.Values++
				lo, hi = min(lo, x), max(hi, x)
				sum += float64(x)
			}
		}
		s.add(sum)
	}
	if s.Values > 0 {
		s.Min, s.Max = wide(lo), wide(hi)
	}
	return s
}
