package versioned

import (
	"blobio/internal/base/fault"
	"fmt"
	"iter"
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
	Ratio  int // steps of level l+1 in one of level l, >= 1; 2 as a rule
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

// Begins says whether the step is one at whose beginning level l begins a step as
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

// EveryStep says whether each level is saved at each of its steps. Only then may
// boxes be put one by one as they are computed.
func (c Cadence) EveryStep() bool {
	return !slices.ContainsFunc(c, func(n int) bool { return n != 1 })
}

// Saved says whether the level's own cadence saves it at the beginning of its step; coarse is the
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
