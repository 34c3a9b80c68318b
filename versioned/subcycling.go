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
	maxSteps  = 1 << 20 // maximum number of fine steps in a coarse step
)

// Step is one step of one level. Index counts from the beginning of the coarse step.
type Step struct{ Level, Index int }

func (s Step) String() string { return fmt.Sprintf("%d:%d", s.Level, s.Index) }

// Subcycling describes the order of steps in a hierarchy.
type Subcycling struct {
	Levels int // number of levels, 1 to 20
	Ratio  int // number of steps of level l+1 in one step of level l, >= 1; usually 2
}

// Validate returns an error that wraps ErrUsage if a field is out of range.
func (s Subcycling) Validate() error {
	if s.Levels < 1 || s.Levels > maxLevels || s.Ratio < 1 {
		return fault.Usage("%d levels of ratio %d, want 1 ... %d levels and a ratio >= 1", s.Levels, s.Ratio, maxLevels)
	}
	n := 1
	for range s.Levels - 1 {
		if n > maxSteps/s.Ratio {
			return fault.Usage("%d levels of ratio %d: more than %d fine steps in a coarse step", s.Levels, s.Ratio, maxSteps)
		}
		n *= s.Ratio
	}
	return nil
}

// Steps returns the number of steps of a level in one coarse step.
func (s Subcycling) Steps(level int) int {
	n := 1
	for range level {
		n *= s.Ratio
	}
	return n
}

// At returns the index of the step that level l <= at.Level takes while step at is taken.
func (s Subcycling) At(l int, at Step) int { return at.Index / s.Steps(at.Level-l) }

// Begins reports whether level l <= at.Level begins a step when step at begins.
func (s Subcycling) Begins(l int, at Step) bool { return at.Index%s.Steps(at.Level-l) == 0 }

// Order yields the steps of a coarse step in the order of execution.
func (s Subcycling) Order() iter.Seq[Step] {
	return func(yield func(Step) bool) { s.order(Step{}, yield) }
}

// order yields a step and then all steps of finer levels during this step.
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

// Cadence has one number c for each level: the level is saved at the beginning of every c-th step, or never if c is 0.
type Cadence []int

// Validate checks that a cadence is valid for the levels of s.
func (c Cadence) Validate(s Subcycling) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(c) != s.Levels {
		return fault.Usage("cadence of %d levels, want %d levels", len(c), s.Levels)
	}
	if slices.Min(c) < 0 {
		return fault.Usage("cadence %v, want no negative number", []int(c))
	}
	return nil
}

// EveryStep reports whether each level is saved at each of its steps. Only then a program may put each box when it has computed
// it.
func (c Cadence) EveryStep() bool {
	return !slices.ContainsFunc(c, func(n int) bool { return n != 1 })
}

// Saved reports whether the cadence of level at.Level itself requires a save at the beginning of step at. coarse is the number of
// the coarse step in the run.
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

// Config holds the settings of a hierarchy. Knobs 1 to 4 come from the paper (docs/gvr.md).
type Config struct {
	Cadence       Cadence // knob 1: when each level is saved
	Extra         float64 // knob 2: capacity is ceil((1+Extra)*need) elements; default 0
	EveryRegrid   bool    // knob 2: reallocate a level's array at each regrid, which wastes no space; default: only when the capacity is too small
	PerBox        bool    // knob 3: put each box when it is computed, which needs cadence 1 on every level; default: all boxes after the step
	AbortSystemic bool    // knob 4: end the run if recomputation does not help; default: diagnostics

	Confirm  int // number of recomputations that must agree, 1 or 2; 0: 1
	BoxLimit int // number of errors in a box within a step at which the box is rolled back; 0 means 3
}

// configJSON is the form of a Config in snapshots.
type configJSON struct {
	Cadence                Cadence
	Extra                  float64
	Realloc, Put, Systemic int64 // 0 or 1, for EveryRegrid, PerBox and AbortSystemic
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

// errCadence means that a program puts boxes one by one, but not every step of every level is saved.
var errCadence = fmt.Errorf("%w: puts of single boxes need cadence 1 on every level", fault.ErrUsage)

// Validate checks that the settings are valid for the levels of s.
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
