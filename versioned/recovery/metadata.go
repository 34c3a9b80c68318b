package recovery

import (
	"context"
	"slices"

	"blobio/comm"
	"blobio/versioned"
)

// metadata gives all ranks the box tables of the majority, or the saved tables. A rank whose own boxes were wrong cannot
// know which values are its own. Its levels return to versions, as if the rank were lost.
func (r *Run) metadata(ctx context.Context, e Event) error {
	var now, saved [][]versioned.BoxInfo
	for l := range r.planner.Levels {
		now, saved = append(now, slices.Clone(r.solver.Boxes(l))), append(saved, r.h.Info(l).Boxes)
	}
	if err := r.boxes.repair(ctx, r.c, now, saved); err != nil {
		return err
	}
	owners := make([][]int, r.planner.Levels) // by level; rank 0 stands for all ranks that have lost boxes
	first := int64(r.boxes.differ(now, r.c.Rank()))
	if r.torn {
		first = 0
	}
	first, err := comm.AllreduceOne(ctx, r.c, first, comm.Min)
	if err != nil {
		return err
	}
	if first == int64(r.planner.Levels) {
		r.Stats.Recoveries = append(r.Stats.Recoveries, Recovery{Event: e, At: r.raised, Plan: Plan{Scope: Box, Coarse: r.raised.Coarse, From: r.raised.Step}})
		r.again = true // take the step again
		return r.stay(ctx, r.planner.Levels)
	}
	owners[first] = []int{0}
	p, err := r.planner.Loss(r.raised, owners, []int{0})
	if err != nil {
		return err
	}
	if err := r.stay(ctx, p.From.Level); err != nil {
		return err
	}
	return r.Recover(ctx, p, e)
}

// stay sets the first levels of the solver to their current state, because ranks may have lost data received from other ranks.
func (r *Run) stay(ctx context.Context, levels int) error {
	for l := range levels {
		if err := comm.Agree(ctx, r.c, r.solver.Set(ctx, l, r.boxes.tables[l], r.solver.Data(l))); err != nil {
			return err
		}
	}
	return nil
}
