package main

import (
	"slices"
	"time"

	"blobio/recovery"
)

// op is one piece of a coarse step: a step of a level, or, with average, the values of the next
// finer level brought down to it.
type op struct {
	recovery.Step
	average bool
}

// times of what a run did, on this rank.
type times struct {
	save, step, lost, reconfig time.Duration
	steps, saves               [maxLevels]span // by level
}

const maxLevels = 6

type span []float64 // seconds

func (s *span) add(d time.Duration) { *s = append(*s, d.Seconds()) }

func (s span) median() float64 {
	if len(s) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(s))
	return v[len(v)/2]
}
