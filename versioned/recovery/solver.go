package recovery

import (
	"context"
	"time"

	"blobio/versioned"
)

// Solver is the code that a Run drives. All methods except Step are collective, and an error on one rank ends Open or Go on all. A
// rank has the data of its own boxes of a level, and any data that it derives from them in Set, Accept and Average.
type Solver interface {
	// Start makes the levels at time 0.
	Start(ctx context.Context) error
	// Regrid gives levels new boxes at the beginning of every coarse step but the first. It returns the levels that have changed.
	Regrid(ctx context.Context, coarse int64) (changed []int, err error)
	// Step computes a step without changing the results of Data. It is not collective. It returns an event for an error that this
	// rank has noticed.
	Step(ctx context.Context, at Moment) (*Event, error)
	// Accept makes the result of Step the state of the level.
	Accept(ctx context.Context, at Moment) error
	// Average sets the values of level at.Step.Level to averages of the next finer level where the finer level covers it. It is
	// called at the end of the coarse level's step.
	Average(ctx context.Context, at Moment) error
	// Boxes returns the boxes of a level, which are the same on all ranks.
	Boxes(level int) []versioned.BoxInfo
	// Data returns the values of this rank's boxes of a level, by box: one component after the other, x fastest.
	Data(level int) map[int][]float64
	// Set makes boxes, with the data of this rank's boxes, the state of a level. The solver may keep the arguments. A rank may have
	// lost its memory, so the solver must again exchange all data about other ranks' boxes, of this level and of coarser levels.
	// After some events a level gets its own current data in the middle of its step. The solver then keeps its data from the
	// beginning of the step.
	Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error
}

// BoxSolver is a Solver that can recompute a single box after Step and before Accept. Without it the whole level repeats the
// step.
type BoxSolver interface {
	Solver
	// StepBox computes a box of this rank from its data at the beginning of the step. It is not collective.
	StepBox(ctx context.Context, at Moment, box int, data []float64) error
}

// ForwardSolver is a Solver that can construct a box from the next coarser level if there is no state to return to.
type ForwardSolver interface {
	Solver
	// Forward computes a box of this rank at the end of step at from coarser data. It returns an estimate of the largest error. It
	// is not collective.
	Forward(ctx context.Context, at Moment, box int) (estimate float64, err error)
}

// Options are the options of Open. nil or a zero field means the default.
type Options struct {
	Versions *versioned.Options // default DurableSnapshot
	Dt       float64            // length of a coarse step, for the tables of versions; default 1

	// Clean reports whether a snapshot is free of an error that was noticed late. It is used if the event does not give the step of
	// the error.
	Clean func(ctx context.Context, h *versioned.Hierarchy, s *versioned.Snapshot) (bool, error)

	// Diagnose is called for values that recomputing does not mend. If it is nil, the run goes back as far as needed. An error from
	// Diagnose ends the run.
	Diagnose func(ctx context.Context, e Event) error

	// Forward mends a box from coarser data (see ForwardSolver) if the plan would revert more than the box. The result differs from
	// a run without errors; Stats has the estimate.
	Forward bool

	// Snapshot is called after each snapshot, to copy it elsewhere. It is collective.
	Snapshot func(ctx context.Context, h *versioned.Hierarchy, n int64) error
}

// Stats counts the operations of a run.
type Stats struct {
	Steps, Again int // number of steps, and of steps repeated after a recovery
	Versions     int // number of saved versions of levels
	Snapshots    int
	Unsaved      int     // number of failed saves after which a handler let the run continue
	Mended       int     // number of values mended by recomputing
	Forward      int     // number of boxes constructed from coarser data
	Estimate     float64 // largest estimated error of these boxes
	Recoveries   []Recovery

	// Took holds the times of this rank.
	Took struct {
		Step, Save, Lost, Back time.Duration // in steps; in saves with their snapshots; in repeated steps; in going back
		Steps, Saves           [][]float64   // by level, in seconds
		Snapshots              []float64
	}
}

// mean returns the mean of times. Means of all parts add up to the time of the run. Medians do not if some saves wait long for the
// disk.
func mean(times []float64) (m float64) {
	for _, v := range times {
		m += v / float64(len(times))
	}
	return m
}

// Model returns the cost model of the run so far, with the times of steps, saves and snapshots. Box and Reconfig are the times
// for going back, 0 if there was no recovery.
func (s *Stats) Model(sub versioned.Subcycling) *Model {
	m := &Model{Ratio: sub.Ratio, Commit: mean(s.Took.Snapshots)}
	for l := range sub.Levels {
		m.Put, m.Step = append(m.Put, mean(s.Took.Saves[l])), append(m.Step, mean(s.Took.Steps[l]))
	}
	var box, far []float64
	for _, r := range s.Recoveries {
		if r.Plan.Scope == Box {
			box = append(box, r.Took.Seconds())
		} else {
			far = append(far, r.Took.Seconds())
		}
	}
	m.Box, m.Reconfig = mean(box), mean(far)
	return m
}

// Recovery is one completed recovery.
type Recovery struct {
	Event Event
	At    Moment
	Plan  Plan
	Took  time.Duration // for going back, without the repeated steps
}
