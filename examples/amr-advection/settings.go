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
	durable versioned.Durability // of the versions; DurableSnapshot but to measure
	deep    *levels.Store        // where snapshots go, nil: nowhere else
	keep    bool                 // run leaves the arrays open
	copies  bool                 // no versions: each save is a copy of the same numbers, to measure what more than that a version costs
}

func (o *settings) boxSide() int32 {
	if o.side == 0 {
		return usual
	}
	return o.side
}
