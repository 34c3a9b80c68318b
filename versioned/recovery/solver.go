package recovery

import (
	"context"
	"time"

	"blobio/versioned"
)

// Solver is the code that a Run drives. All methods but Step are collective. A rank has the data of its own boxes of a level, and whatever else it makes
// of them in Set, Accept and Average.
type Solver interface {
	// Start makes the levels of time 0.
	Start(ctx context.Context) error
	// Regrid gives levels other boxes, at the beginning of a coarse step but the first; it returns which have changed.
	Regrid(ctx context.Context, coarse int64) (changed []int, err error)
	// Step computes a step, and changes nothing that Data returns. It is not collective. An event is an error that this rank has noticed.
	Step(ctx context.Context, at Moment) (*Event, error)
	// Accept makes the result of Step the state of the level.
	Accept(ctx context.Context, at Moment) error
	// Average brings the values of the next finer level down to level at.Step.Level, at the end of its step.
	Average(ctx context.Context, at Moment) error
	// Boxes of a level, the same on all ranks.
	Boxes(level int) []versioned.BoxInfo
	// Data are the numbers of the own boxes of a level, by box: components one after the other, x fastest.
	Data(level int) map[int][]float64
	// Set makes boxes and the data of the own ones the state of a level. The solver may keep them. A rank may have lost its memory: what it knows of other ranks'
	// boxes, of this level and of coarser ones, is exchanged again. After some events a level in the middle of its step gets the data that it has: what the
	// solver keeps of the beginning of the step stays.
	Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error
}

// BoxSolver is a Solver that can compute a single box again, after Step and before Accept. Without it the whole level takes the step again.
type BoxSolver interface {
	Solver
	// StepBox computes the own box of a level from its data at the beginning of the step. It is not collective.
	StepBox(ctx context.Context, at Moment, box int, data []float64) error
}

// ForwardSolver is a Solver that can make up a box of a level from the level below it, where nothing that could be gone back to is left.
type ForwardSolver interface {
	Solver
	// Forward computes the own box at the end of step at from coarser data, and returns an estimate of the largest error. It is not collective.
	Forward(ctx context.Context, at Moment, box int) (estimate float64, err error)
}

// Options of Open. nil, or a zero field, means the default.
type Options struct {
	Versions *versioned.Options // default DurableSnapshot
	Dt       float64            // of a coarse step, for the tables of versions; default 1

	// Clean reports whether a snapshot is free of an error that was noticed late, if the event does not say when it happened.
	Clean func(ctx context.Context, h *versioned.Hierarchy, s *versioned.Snapshot) (bool, error)

	// Diagnose is asked about values that computing again does not mend. nil lets the run go back as far as it takes, an error ends it.
	Diagnose func(ctx context.Context, e Event) error

	// Forward mends a box from coarser data (see ForwardSolver) where the plan would take back more than the box. The result differs from a run without
	// errors; Stats has the estimate.
	Forward bool

	// Snapshot is called after each one, to take it elsewhere. It is collective.
	Snapshot func(ctx context.Context, h *versioned.Hierarchy, n int64) error
}

// Stats is what a run did.
type Stats struct {
	Steps, Again int     // steps taken, and taken again after a recovery
	Versions     int     // of levels
	Snapshots    int     //
	Unsaved      int     // saves that failed, and that a handler went on without
	Mended       int     // values that were right when computed again
	Forward      int     // boxes made from coarser data
	Estimate     float64 // the largest error of these, as estimated
	Recoveries   []Recovery

	// Took is how long this rank took for what.
	Took struct {
		Step, Save, Lost, Back time.Duration // in steps, and in saves with their snapshots; of the steps those taken again; in going back
		Steps, Saves           [][]float64   // by level, in seconds
		Snapshots              []float64
	}
}

// mean is the mean of times. Means add up to the run: if a save sometimes waits long for a disk, a median is less than its share.
func mean(times []float64) (m float64) {
	for _, v := range times {
		m += v / float64(len(times))
	}
	return m
}

// Model is the cost model of the run so far: times of steps, saves and snapshots. Box and Reconfig are the times for going back, 0 if there was none.
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

// Recovery is one that was done.
type Recovery struct {
	Event Event
	At    Moment
	Plan  Plan
	Took  time.Duration // going back, without the steps that follow
}
