package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"math"
)

// BreakEven returns the number of errors per coarse step at which cadences a and b cost the same. It returns NaN if one of them
// is better at any rate. Above the break-even rate the cadence with more saves costs less, below it the other one. With last,
// errors come only in the last fine step, as in the paper; otherwise in a random fine step.
func (m *Model) BreakEven(a, b *Planner, last bool) (float64, error) {
	var ca, cb Cost
	var err error
	if last {
		at := versioned.Step{Level: a.Levels - 1, Index: a.Steps(a.Levels-1) - 1}
		if ca, err = m.Cost(a, at); err == nil {
			cb, err = m.Cost(b, at)
		}
	} else {
		if ca, err = m.Expected(a, 1); err == nil {
			cb, err = m.Expected(b, 1)
		}
	}
	if err != nil {
		return 0, err
	}
	more, less := cb.Save-ca.Save, ca.Lost+ca.Reconfig-cb.Lost-cb.Reconfig
	if x := more / less; x > 0 && !math.IsInf(x, 0) {
		return x, nil
	}
	return math.NaN(), nil
}

// CanTry reports whether the number of cadences and steps is small enough for BestCadence.
func (m *Model) CanTry() bool {
	s := m.Subcycling()
	if s.Validate() != nil {
		return false
	}
	n, steps := 1, 0
	for l := range s.Levels {
		if steps += s.Steps(l); l > 0 {
			n *= l + 2
		}
		if n*steps > 1<<20 {
			return false
		}
	}
	return true
}

// BestCadence returns the cadence with the least expected cost at perr errors per coarse step. It tries cadences that save level
// 0 at every coarse step and each finer level never or at every Ratio^k-th step. Of cadences with equal costs it returns one with
// the fewest saves. ErrUsage means that the hierarchy has too many cadences to try; see CanTry.
func (m *Model) BestCadence(perr float64) (versioned.Cadence, Cost, error) {
	s := m.Subcycling()
	if err := m.Validate(); err != nil {
		return nil, Cost{}, err
	}
	if !m.CanTry() {
		return nil, Cost{}, fault.Usage("%d levels of ratio %d are too many to try all cadences", s.Levels, s.Ratio)
	}
	cad := make(versioned.Cadence, s.Levels)
	cad[0] = 1
	var best versioned.Cadence
	var bestCost Cost
	var try func(l int) error
	try = func(l int) error {
		if l == s.Levels {
			c, err := m.Expected(&Planner{Subcycling: s, Cadence: cad}, perr)
			if err == nil && (best == nil || c.Total() < bestCost.Total()*(1-1e-12)) {
				best, bestCost = append(versioned.Cadence(nil), cad...), c
			}
			return err
		}
		cad[l] = 0
		if err := try(l + 1); err != nil {
			return err
		}
		if s.Ratio == 1 {
			cad[l] = 1
			return try(l + 1)
		}
		for n := s.Steps(l); n >= 1; n /= s.Ratio {
			cad[l] = n
			if err := try(l + 1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := try(1); err != nil {
		return nil, Cost{}, err
	}
	return best, bestCost, nil
}
