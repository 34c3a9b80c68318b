package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"math"
)

// BreakEven is the number of errors per coarse step at which cadences a and b cost the same; NaN if there is none, since one of them
// is better at any rate. Above it the one costs less that saves more, below it the other one. last looks at errors in the last fine step only, as the paper does; otherwise they
// come at a uniformly random one.
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

// CanTry reports whether BestCadence has few enough cadences to try, and steps to go over for each of them.
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

// BestCadence returns the cadence with the least expected cost at perr errors per coarse step, among those that save
// level 0 at every coarse step and each finer level never or at every Ratio^k-th step. Of equal ones the first wins;
// those with fewest saves come first. ErrUsage: the hierarchy has too many cadences to try, see CanTry.
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
