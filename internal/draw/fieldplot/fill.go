package fieldplot

import (
	"math"

	"blobio/internal/view/cf"
)

// A State says what an element holds.
type State string

const (
	Good    State = "value"
	Fill    State = "fill" // what stands for no value, or what nobody wrote
	NaN     State = "NaN"
	Nothing State = "none" // no element is there
)

// stats are what is known of values.
type stats struct {
	n, fill, nan int64
	inf          int64
	below        int64   // not above 0
	lo, hi       float64 // of the finite ones; lo > hi: there are none
	positive     float64 // the least one above 0, infinite if there is none
}

func newStats() stats { return stats{lo: math.Inf(1), hi: math.Inf(-1), positive: math.Inf(1)} }

// add looks at values.
func (s *stats) add(values []float64) {
	for _, x := range values {
		s.n++
		if x <= 0 {
			s.below++
		}
		switch {
		case cf.IsNone(x):
			s.fill++
			continue
		case x != x:
			s.nan++
			continue
		case math.IsInf(x, 0):
			s.inf++
			continue
		}
		s.lo, s.hi = min(s.lo, x), max(s.hi, x)
		if x > 0 {
			s.positive = min(s.positive, x)
		}
	}
}

// finite is the number of values that have a place between the ends.
func (s *stats) finite() int64 { return s.n - s.fill - s.nan - s.inf }
