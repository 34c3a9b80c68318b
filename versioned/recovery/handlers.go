package recovery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/versioned"
)

// ofPackage is the priority of the handlers of this package. Any handler of the program comes before a package handler with
// equally many terms.
const ofPackage = -1 << 30

// handlers registers the handlers of this package. A handler refuses a scope that is too small for its event; the registry then
// tries the next larger scope.
func (r *Run) handlers() {
	on := func(kind string, plan func(ctx context.Context, e Event) (Plan, error)) {
		r.Registry.On(Pred{"kind": kind}, ofPackage, func(ctx context.Context, e Event) error {
			p, err := plan(ctx, e)
			if err != nil {
				return err
			}
			if e.Scope < p.Scope {
				return needs(p.Scope)
			}
			return r.goBack(ctx, e, p)
		})
	}
	corruption := func(ctx context.Context, e Event) (Plan, error) {
		return r.planner.Corruption(r.raised)
	}
	on("data", corruption)
	on("systemic", func(ctx context.Context, e Event) (Plan, error) {
		p, err := corruption(ctx, e)
		if err != nil || e.Scope < p.Scope {
			return p, err
		}
		if r.config.AbortSystemic || e.Scope == Abort {
			return Plan{}, fmt.Errorf("box %d of level %d: recomputation did not remove the error: %w", e.Box, e.Level, ErrAborted)
		}
		if r.opt.Diagnose != nil {
			if err := comm.Agree(ctx, r.c, r.opt.Diagnose(ctx, e)); err != nil {
				return Plan{}, err
			}
		}
		return p, nil
	})
	loss := func(lost []int) (Plan, error) {
		return r.planner.Loss(r.raised, r.boxes.owners(), lost)
	}
	on("temporary", func(ctx context.Context, e Event) (Plan, error) { return loss(e.Ranks) })
	on("permanent", func(ctx context.Context, e Event) (Plan, error) {
		lost := append(slices.Clone(r.lost), e.Ranks...)
		if len(without(r.c.Size(), lost)) == 0 {
			return Plan{}, fmt.Errorf("all %d ranks are lost: %w", r.c.Size(), ErrNoRecovery)
		}
		p, err := loss(lost)
		if err == nil && e.Scope >= p.Scope {
			r.lost = lost
		}
		return p, err
	})
	r.Registry.On(Pred{"kind": "late"}, ofPackage, func(ctx context.Context, e Event) error {
		if e.Scope != Global { // so that versions are tainted only once
			return needs(Global)
		}
		if err := r.tries.add(&e, r.raised, 3); err != nil {
			return err
		}
		p, err := r.late(ctx, e)
		if err != nil {
			return err
		}
		return r.Recover(ctx, p, e)
	})
	r.Registry.On(Pred{"kind": "metadata"}, ofPackage, func(ctx context.Context, e Event) error {
		if err := r.tries.add(&e, r.raised, 2); err != nil {
			return err
		}
		return r.metadata(ctx, e)
	})
}

// goBack calls Recover, with a larger scope each time the same event comes back. It begins with the scope of the plan and ends
// with Abort.
func (r *Run) goBack(ctx context.Context, e Event, p Plan) error {
	if scope := p.Scope + Scope(r.tries.of(&e, r.raised)); e.Scope < scope {
		return needs(scope)
	}
	if err := r.tries.add(&e, r.raised, 4); err != nil {
		return err
	}
	if len(p.Redo) == 0 { // the rank had no boxes
		r.again = true
		return r.stay(ctx, r.planner.Levels)
	}
	if f, ok := r.solver.(ForwardSolver); ok && r.opt.Forward && e.Kind == "data" && p.Scope != Box && e.Level > 0 {
		return r.forward(ctx, f, e)
	}
	switch {
	case e.Scope == p.Scope:
	case e.Scope == Levels: // the box alone did not help, or could not return
		p = Plan{Scope: Levels, Coarse: p.Coarse, From: p.From, Redo: p.Redo}
	default:
		p = Plan{Scope: Global, Coarse: p.Coarse}
	}
	return r.Recover(ctx, p, e)
}

// forward computes the box of an event from coarser data.
func (r *Run) forward(ctx context.Context, f ForwardSolver, e Event) error {
	boxes := r.boxes.tables[e.Level]
	estimate, err := 0.0, error(nil)
	if e.Box < 0 || e.Box >= len(boxes) {
		err = fault.Usage("box %d of level %d, but the level has %d boxes", e.Box, e.Level, len(boxes))
	} else if int(boxes[e.Box].Owner) == r.c.Rank() {
		err = caught(func() (err error) {
			estimate, err = f.Forward(ctx, r.raised, e.Box)
			return err
		})
	}
	bits, err := comm.AgreeMin(ctx, r.c, err, ^int64(math.Float64bits(math.Abs(estimate)))) // the bits of non-negative floats are in the order of the floats
	if err != nil {
		return err
	}
	r.Stats.Forward++
	r.Stats.Estimate = max(r.Stats.Estimate, math.Float64frombits(uint64(^bits[0])))
	return nil
}

// late plans for an error that was noticed late, and taints the versions that contain it. since_coarse, since_level and
// since_index in the event give the step in which the error happened. Without them late uses Options.Clean to find the newest
// snapshot without the error.
func (r *Run) late(ctx context.Context, e Event) (Plan, error) {
	var since Moment
	coarse, known := e.Attr["since_coarse"].(int64)
	if known {
		level, _ := e.Attr["since_level"].(int64)
		index, _ := e.Attr["since_index"].(int64)
		since = Moment{Coarse: coarse, Step: versioned.Step{Level: int(level), Index: int(index)}}
	} else {
		if r.opt.Clean == nil {
			return Plan{}, fmt.Errorf("late event without the step in which it happened, and no Options.Clean: %w", ErrNoRecovery)
		}
		n, err := r.h.NewestClean(ctx, false, func(ctx context.Context, s *versioned.Snapshot) (bool, error) { return r.opt.Clean(ctx, r.h, s) })
		if err != nil {
			return Plan{}, errors.Join(err, ErrNoRecovery)
		}
		time, _ := r.h.SnapshotTime(n)
		since = Moment{Coarse: int64(math.Round(time / r.opt.Dt))}
	}
	p, err := r.planner.Late(r.raised, since)
	if err == nil {
		err = r.taint(ctx, p)
	}
	return p, err
}

// LateEvent returns the event for an error that happened in step since and was noticed later.
func LateEvent(since Moment) *Event {
	return &Event{Kind: "late", Scope: Global, Level: since.Step.Level,
		Attr: map[string]any{"since_coarse": since.Coarse, "since_level": since.Step.Level, "since_index": since.Step.Index}}
}

// Inspect looks for implausible values of a box (see plausible) and mends them if a recomputation is plausible. It returns an
// event for values that it did not mend. The event is data after Config.BoxLimit errors in the box in one step, and systemic if
// recomputing (Config.Confirm times) does not help. Solver.Step calls it.
func (r *Run) Inspect(at Moment, box int, now, before []float64, eps float64, again func(i int) float64) *Event {
	bad, err := suspects(now, before, eps)
	if err != nil {
		return &Event{Kind: "data", Level: at.Step.Level, Box: box, Attr: map[string]any{"error": err.Error()}}
	}
	for _, i := range bad {
		if r.errs.Add(at.Step.Level, box) {
			return &Event{Kind: "data", Level: at.Step.Level, Box: box}
		}
		verdict, x, err := classify(now[i], before[i], eps, func() float64 { return again(i) }, max(r.config.Confirm, 1))
		if err != nil || verdict != verdictAccept {
			return &Event{Kind: "systemic", Level: at.Step.Level, Box: box}
		}
		now[i] = x
		r.Stats.Mended++
	}
	return nil
}
