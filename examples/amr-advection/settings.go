package main

import (
	"blobio/recovery"
	"blobio/versioned"
	"blobio/versioned/levels"
)

// failure is what the injector does, once.
type failure struct {
	Mode   string // "", "data", "point", "temporary", "permanent", "metadata", "abort"
	Coarse int64
	Step   recovery.Step
	Rank   int
}

type settings struct {
	sub     recovery.Subcycling
	cadence recovery.Cadence
	steps   int64 // coarse steps
	side    int32 // cells of a box and dimension, 0: as usual
	regrid  int64 // coarse steps between regrids
	fail    failure
	store   *versioned.Store
	deep    *levels.Store // where snapshots go, nil: nowhere else
	copies  bool          // no versions: each save is a copy of the same numbers, to measure what more than that a version costs
}

func (o *settings) boxSide() int32 {
	if o.side == 0 {
		return usual
	}
	return o.side
}

func program(s recovery.Subcycling) []op {
	var out []op
	var walk func(at recovery.Step)
	walk = func(at recovery.Step) {
		out = append(out, op{Step: at})
		if at.Level+1 < s.Levels {
			for k := range s.Ratio {
				walk(recovery.Step{Level: at.Level + 1, Index: at.Index*s.Ratio + k})
			}
			out = append(out, op{Step: at, average: true})
		}
	}
	walk(recovery.Step{})
	return out
}
