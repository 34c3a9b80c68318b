package versioned

import (
	"blobio/internal/base/fault"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
)

const (
	maxLevels = 20
	maxSteps  = 1 << 20 // fine steps of a coarse step
)

// Step is one step of one level; Index counts from the beginning of the coarse
// step.
type Step struct{ Level, Index int }

func (s Step) String() string { return fmt.Sprintf("%d:%d", s.Level, s.Index) }

// Subcycling is the hierarchy's order of steps.
type Subcycling struct {
	Levels int // 1 ... 20
	Ratio  int // steps of level l+1 in one of level l, >= 1; usually 2
}

// Validate returns an error that wraps ErrUsage if a field is out of range.
func (s Subcycling) Validate() error {
	if s.Levels < 1 || s.Levels > maxLevels || s.Ratio < 1 {
		return fault.Usage("%d levels of ratio %d, want 1 ... %d and >= 1", s.Levels, s.Ratio, maxLevels)
	}
	n := 1
	for range s.Levels - 1 {
		if n > maxSteps/s.Ratio {
			return fault.Usage("%d levels of ratio %d: more than %d fine steps in a coarse one", s.Levels, s.Ratio, maxSteps)
		}
		n *= s.Ratio
	}
	return nil
}

// Steps is the number of steps of a level in one coarse step.
func (s Subcycling) Steps(level int) int {
	n := 1
	for range level {
		n *= s.Ratio
	}
	return n
}

// At is the step that level l is in while level at is in its step k; l <= at.
func (s Subcycling) At(l int, at Step) int { return at.Index / s.Steps(at.Level-l) }

// Begins reports whether the step is one at whose beginning level l begins a step as
// well. For l <= at.Level.
func (s Subcycling) Begins(l int, at Step) bool { return at.Index%s.Steps(at.Level-l) == 0 }

// Order yields the steps of a coarse step in the order in which they are taken.
func (s Subcycling) Order() iter.Seq[Step] {
	return func(yield func(Step) bool) { s.order(Step{}, yield) }
}

// order yields a step and all finer steps during it.
func (s Subcycling) order(at Step, yield func(Step) bool) bool {
	if !yield(at) {
		return false
	}
	if at.Level >= s.Levels-1 {
		return true
	}
	for k := range s.Ratio {
		if !s.order(Step{at.Level + 1, at.Index*s.Ratio + k}, yield) {
			return false
		}
	}
	return true
}

// Cadence says for each level to save it at the beginning of every c-th step; 0: never.
type Cadence []int

// Validate checks a cadence for the hierarchy.
func (c Cadence) Validate(s Subcycling) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(c) != s.Levels {
		return fault.Usage("cadence of %d levels, there are %d", len(c), s.Levels)
	}
	if slices.Min(c) < 0 {
		return fault.Usage("cadence %v, want no negative number", []int(c))
	}
	return nil
}

// EveryStep reports whether each level is saved at each of its steps. Only then may
// boxes be put one by one as they are computed.
func (c Cadence) EveryStep() bool {
	return !slices.ContainsFunc(c, func(n int) bool { return n != 1 })
}

// Saved reports whether the level's own cadence saves it at the beginning of its step; coarse is the
// number of the coarse step in the run.
func (c Cadence) Saved(at Step, coarse int64) bool {
	n := c[at.Level]
	if n <= 0 {
		return false
	}
	if at.Level == 0 {
		return coarse%int64(n) == 0
	}
	return at.Index%n == 0
}

// Config holds the knobs of the paper and those that it leaves open.
type Config struct {
	Cadence       Cadence // knob 1: when each level is saved
	Extra         float64 // knob 2: capacity is ceil((1+Extra)*need) elements; default 0
	EveryRegrid   bool    // knob 2: the array of a level is allocated again at each regrid, which wastes no space; default: when its capacity is too small
	PerBox        bool    // knob 3: each box is put as soon as it is computed, which needs cadence 1 of every level; default: all boxes after the step
	AbortSystemic bool    // knob 4: the run ends when computing again does not help; default: diagnostics

	Confirm  int // recomputations that must agree, 1 or 2; 0: 1
	BoxLimit int // errors in a box in a step from which on the box is rolled back; 0: 3
}

// configJSON is a Config as snapshots hold it.
type configJSON struct {
	Cadence                Cadence
	Extra                  float64
	Realloc, Put, Systemic int64 // 0 or 1: EveryRegrid, PerBox, AbortSystemic
	Confirm, BoxLimit      int
}

// MarshalJSON implements json.Marshaler.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(configJSON{c.Cadence, c.Extra, btoi(c.EveryRegrid), btoi(c.PerBox), btoi(c.AbortSystemic), c.Confirm, c.BoxLimit})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(b []byte) error {
	var w configJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Config{w.Cadence, w.Extra, w.Realloc != 0, w.Put != 0, w.Systemic != 0, w.Confirm, w.BoxLimit}
	return nil
}

// errCadence: boxes are put one by one, but not every step of every level is saved.
var errCadence = fmt.Errorf("%w: per-box puts need cadence 1 of every level", fault.ErrUsage)

// Validate checks the fields against the hierarchy.
func (c *Config) Validate(s Subcycling) error {
	if err := c.Cadence.Validate(s); err != nil {
		return err
	}
	switch {
	case !(c.Extra >= 0) || math.IsInf(c.Extra, 0):
		return fault.Usage("Extra %v, want >= 0", c.Extra)
	case c.PerBox && !c.Cadence.EveryStep():
		return fmt.Errorf("%w: cadence %v", errCadence, []int(c.Cadence))
	case c.Confirm < 0 || c.Confirm > 2 || c.BoxLimit < 0:
		return fault.Usage("Confirm %d, want 1 or 2; BoxLimit %d, want > 0", c.Confirm, c.BoxLimit)
	}
	return nil
}
