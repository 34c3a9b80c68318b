package recovery

import (
	"context"
	"encoding/json"
	"slices"

	"blobio/comm"
	"blobio/versioned"
)

// replicate copies new boxes of a level to this rank's replica of all box tables.
func (r *Run) replicate(level int, boxes []versioned.BoxInfo) error {
	r.tables[level] = slices.Clone(boxes)
	b, err := json.Marshal(r.tables)
	r.meta = seal(b)
	return err
}

// metadata gives all ranks the box tables of the majority, or the tables of the arrays. A rank whose own boxes were wrong cannot
// know which values are its own. Its levels go back as after a loss of the rank.
func (r *Run) metadata(ctx context.Context, e Event) error {
	// The solver's current boxes count. A rank is bad if they differ from the replica made from them.
	now := r.boxes()
	if !slices.EqualFunc(r.tables, now, slices.Equal) {
		r.meta = append(slices.Clone(r.meta), 0) // invalidate the replica
	}
	good, _, err := repairReplicas(ctx, r.c, r.meta, func() ([]byte, error) {
		var t [][]versioned.BoxInfo
		for l := range r.planner.Levels {
			t = append(t, r.h.Info(l).Boxes)
		}
		b, err := json.Marshal(t)
		return seal(b), err
	})
	if err != nil {
		return err
	}
	data, _ := unseal(good)
	var tables [][]versioned.BoxInfo
	if err := comm.Agree(ctx, r.c, json.Unmarshal(data, &tables)); err != nil {
		return err
	}
	r.meta, r.tables = good, tables
	owners := make([][]int, r.planner.Levels) // by level; 0 marks ranks that have lost their boxes
	first := int64(slices.IndexFunc(all(r.planner.Levels), func(l int) bool { return r.differ(now[l], tables[l]) }))
	if r.torn {
		first = 0
	} else if first < 0 {
		first = int64(r.planner.Levels)
	}
	if first, err = comm.AllreduceOne(ctx, r.c, first, comm.Min); err != nil {
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

// differ reports whether boxes of this rank differ between two tables.
func (r *Run) differ(now, good []versioned.BoxInfo) bool {
	own := func(t []versioned.BoxInfo, i int) bool { return i < len(t) && int(t[i].Owner) == r.c.Rank() }
	for i := range max(len(now), len(good)) {
		if (own(now, i) || own(good, i)) && (i >= len(now) || i >= len(good) || now[i] != good[i]) {
			return true
		}
	}
	return false
}

// stay sets the first levels of the solver to their current state, because ranks may have lost data received from other ranks.
func (r *Run) stay(ctx context.Context, levels int) error {
	for l := range levels {
		if err := comm.Agree(ctx, r.c, r.solver.Set(ctx, l, r.tables[l], r.solver.Data(l))); err != nil {
			return err
		}
	}
	return nil
}

// boxes returns the solver's current box tables.
func (r *Run) boxes() (tables [][]versioned.BoxInfo) {
	for l := range r.planner.Levels {
		tables = append(tables, slices.Clone(r.solver.Boxes(l)))
	}
	return tables
}
