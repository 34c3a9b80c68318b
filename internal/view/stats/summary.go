package stats

import (
	"math"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/view/cf"
)

// Summary holds statistics of some elements.
type Summary struct {
	Values   int64 // number of elements except fill values and NaN
	Fill     int64 // number of elements that stand for no value
	NaN      int64 // number of other NaN
	Min, Max any   // of the values, in their type in memory; nil without values

	sum, great sum // sums of the values; great sums, in units of unit, the values whose plain sum could overflow
}

const (
	unit  = 0x1p64
	large = 0x1p960 // the sum of any number of smaller blocks stays finite
)

// sum is a sum with its accumulated rounding error.
type sum struct{ sum, rest float64 }

// add adds a number, and tracks the rounding error (Neumaier).
func (s *sum) add(x float64) {
	t := s.sum + x
	if math.Abs(s.sum) >= math.Abs(x) {
		s.rest += s.sum - t + x
	} else {
		s.rest += x - t + s.sum
	}
	s.sum = t
}

func (s *sum) join(o sum) {
	s.add(o.sum)
	if o.rest == o.rest { // no rounding error for infinities
		s.add(o.rest)
	}
}

func (s *sum) total() float64 {
	if t := s.sum + s.rest; !math.IsNaN(t) {
		return t
	}
	return s.sum // no rounding error for infinities
}

// Mean returns the mean of the values, or NaN without values.
func (s *Summary) Mean() float64 {
	if s.Values == 0 {
		return math.NaN()
	}
	n := float64(s.Values)
	mean := s.sum.total()/n + s.great.total()/n*unit
	if math.IsInf(mean, 0) && !math.IsInf(s.great.total(), 0) { // rounding caused an overflow
		return math.Copysign(math.MaxFloat64, mean)
	}
	return mean
}

// Join adds the statistics of other elements of the same type.
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
	s.sum.join(o.sum)
	s.great.join(o.great)
}

func less(a, b any) bool {
	switch x := a.(type) {
	case int64:
		return x < b.(int64)
	case uint64:
		return x < b.(uint64)
	}
	return a.(float64) < b.(float64)
}

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

// of summarizes stored numbers, which it may overwrite.
func of(data any, m *cf.Meaning) (s Summary) {
	const some = 64 * block
	n, _, _ := cdf5.SliceLen(data)
	for at := 0; at < n; at += some {
		values, absent := m.Values(elem.Sub(data, at, min(at+some, n)))
		s.Fill += absent
		switch x := values.(type) { // the types
		case []int8:
			scan(&s, x)
		case []uint8:
			scan(&s, x)
		case []int16:
			scan(&s, x)
		case []uint16:
			scan(&s, x)
		case []int32:
			scan(&s, x)
		case []uint32:
			scan(&s, x)
		case []int64:
			scan(&s, x)
		case []uint64:
			scan(&s, x)
		case []float32:
			scan(&s, x)
		case []float64:
			scan(&s, x)
		}
	}
	return s
}

// block is the number of values summed before the rounding error is tracked. The rounding error within one block is less than the
// rounding error of the mean itself.
const block = 128

// together returns the minimum, maximum and sum of some values; the sum is NaN if any value is NaN. It uses four independent
// partial sums for speed.
func together[T elem.Number](x []T) (lo, hi T, sum float64) {
	lo, hi = x[0], x[0]
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		p, q, r, s := x[0], x[1], x[2], x[3]
		if p < lo {
			lo = p
		}
		if p > hi {
			hi = p
		}
		if q < lo {
			lo = q
		}
		if q > hi {
			hi = q
		}
		if r < lo {
			lo = r
		}
		if r > hi {
			hi = r
		}
		if s < lo {
			lo = s
		}
		if s > hi {
			hi = s
		}
		a, b, c, d = a+float64(p), b+float64(q), c+float64(r), d+float64(s)
	}
	for _, p := range x {
		lo, hi, a = min(lo, p), max(hi, p), a+float64(p)
	}
	return lo, hi, (a + b) + (c + d)
}

// scan adds values.
func scan[T elem.Number](s *Summary, data []T) {
	var lo, hi T
	n := int64(0)
	for len(data) > 0 {
		some := data[:min(block, len(data))]
		data = data[len(some):]
		least, most, sum := together(some)
		if sum == sum {
			if n == 0 {
				lo, hi = least, most
			}
			n += int64(len(some))
			lo, hi = min(lo, least), max(hi, most)
		} else { // contains NaN or infinities
			sum = 0
			for _, x := range some {
				if x != x {
					s.NaN++
					continue
				}
				if n == 0 {
					lo, hi = x, x
				}
				n++
				lo, hi = min(lo, x), max(hi, x)
				sum += float64(x)
			}
		}
		if math.Abs(sum) < large {
			s.sum.add(sum)
			continue
		}
		for _, x := range some {
			if x == x {
				s.great.add(float64(x) / unit)
			}
		}
	}
	if n == 0 {
		return
	}
	if least := wide(lo); s.Values == 0 || less(least, s.Min) {
		s.Min = least
	}
	if most := wide(hi); s.Values == 0 || less(s.Max, most) {
		s.Max = most
	}
	s.Values += n
}
