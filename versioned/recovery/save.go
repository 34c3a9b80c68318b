package recovery

import (
	"context"
	"time"

	"blobio/comm"
	"blobio/versioned"
)

// save saves the versions that are due at the beginning of a step: of the level and of all finer levels, which are at the same
// time. It skips levels that have not changed.
func (r *Run) save(ctx context.Context, now Moment) error {
	begins := now.Step
	if !r.planner.Cadence.Saved(begins, now.Coarse) {
		return nil
	}
	changed := false
	for l := begins.Level; l < r.planner.Levels; l++ {
		step := versioned.Step{Level: l, Index: begins.Index * r.planner.Steps(l-begins.Level)}
		if r.dirty[l] {
			changed = true
			n := r.planner.Steps(l)
			at := (float64(now.Coarse) + float64(step.Index)/float64(n)) * r.opt.Dt
			start := time.Now()
			v, err := r.h.Save(ctx, l, at, r.opt.Dt/float64(n), now.Coarse, r.solver.Data(l))
			if err != nil {
				return err
			}
			d := time.Since(start)
			r.Stats.Took.Save += d
			r.Stats.Took.Saves[l] = append(r.Stats.Took.Saves[l], d.Seconds())
			r.at[l], r.dirty[l] = v, false
			r.Stats.Versions++
		}
		r.begin[stamp{now.Coarse, step}] = r.at[l]
	}
	if begins.Level > 0 || !changed {
		return nil
	}
	start := time.Now()
	n, err := r.h.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.Stats.Snapshots++
	r.Stats.Took.Save += time.Since(start)
	r.Stats.Took.Snapshots = append(r.Stats.Took.Snapshots, time.Since(start).Seconds())
	r.forget(now.Coarse)
	if r.opt.Snapshot != nil {
		return comm.Agree(ctx, r.c, r.opt.Snapshot(ctx, r.h, n))
	}
	return nil
}
