package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/versioned"
)

// Recover carries out a plan: the box or the levels return to the versions of the plan, and Go repeats the steps. If a version is
// missing or damaged, the run goes back to the newest whole snapshot and taints the damaged ones. Handlers call Recover.
func (r *Run) Recover(ctx context.Context, p Plan, e Event) error {
	was := r.raised
	if g := r.gone; g != nil && g.From.Level <= p.From.Level && r.planner.time(Moment{g.Coarse, g.From}) <= r.planner.time(Moment{p.Coarse, p.From}) {
		return nil // another event of the same step has already reverted this part
	}
	if p.Scope == Abort {
		return fmt.Errorf("the plan is to abort: %w", ErrNoRecovery)
	}
	start, lost := time.Now(), r.Stats.Took.Lost
	r.Stats.Recoveries = append(r.Stats.Recoveries, Recovery{Event: e, At: was, Plan: p})
	done := &r.Stats.Recoveries[len(r.Stats.Recoveries)-1]
	defer func() {
		done.Took = time.Since(start) - (r.Stats.Took.Lost - lost)
		r.Stats.Took.Back += done.Took
	}()
	if p.Scope == Box {
		if bs, ok := r.solver.(BoxSolver); ok {
			return r.box(ctx, bs, p, e)
		}
		p.Scope = Levels
	}
	r.torn = true
	versions, ok := r.versions(p)
	var err error
	if ok {
		ok, err = r.levels(ctx, p.From.Level, versions)
	}
	switch {
	case !ok:
		if err := r.snapshot(ctx, p.Coarse, err); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		r.coarse, r.pc = p.Coarse, slices.Index(r.ops, op{Step: p.From})
	}
	if !ok {
		p.Coarse, p.From = r.coarse, versioned.Step{}
	}
	r.begun, r.again, r.gone, r.torn = r.coarse, true, &p, false
	for l := range r.planner.Levels {
		r.errs.StepDone(l)
	}
	if r.until == nil {
		r.until = &was
	}
	from := r.planner.time(Moment{p.Coarse, p.From})
	maps.DeleteFunc(r.begin, func(s stamp, _ int64) bool { return r.planner.time(Moment{s.coarse, s.step}) > from }) // these steps are repeated
	return nil
}

// unreadable reports whether a version is damaged or lost.
func unreadable(err error) bool {
	for _, class := range []error{versioned.ErrChecksum, versioned.ErrCorrupt, fault.ErrTruncated, versioned.ErrNotFormat, versioned.ErrMissing, fs.ErrNotExist} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// damaged is collective: it reports whether the error of at least one rank means that the version is damaged. It then raises an
// event and taints the version. Either all ranks have an error or none.
func (r *Run) damaged(ctx context.Context, err error, level int, version int64) (bool, error) {
	if err == nil { // all ranks take this branch
		return false, nil
	}
	n := int64(0)
	if unreadable(err) {
		n = 1
	}
	n, cerr := comm.AllreduceOne(ctx, r.c, n, comm.Max)
	if cerr != nil || n == 0 {
		return false, errors.Join(err, cerr)
	}
	e := Event{Kind: "version", Level: max(level, 0), Attr: map[string]any{"version": version}}
	if herr := r.raise(ctx, e, err); herr != nil && !errors.Is(herr, ErrUnhandled) {
		return false, errors.Join(err, herr)
	}
	return true, r.h.Taint(ctx, level, version)
}

// raise raises one event on all ranks for an error whose text differs between the ranks.
func (r *Run) raise(ctx context.Context, e Event, err error) error {
	text, cerr := r.c.Bcast(ctx, 0, []byte(err.Error()))
	if cerr != nil {
		return cerr
	}
	e.Scope, e.Attr["error"] = Global, string(text)
	return r.Registry.RaiseGlobal(ctx, r.c, &e)
}

// levels restores the levels from first on to versions. It returns false if one is damaged.
func (r *Run) levels(ctx context.Context, first int, versions []int64) (ok bool, err error) {
	for i, v := range versions {
		l := first + i
		err := r.h.RestoreLevel(ctx, l, v)
		if bad, err2 := r.damaged(ctx, err, l, v); bad || err2 != nil {
			return !bad, errors.Join(err, err2)
		}
		if err := r.set(ctx, l, v); err != nil {
			return true, err
		}
	}
	return true, nil
}

// set passes the hierarchy's state of a level, at version, to the solver. Boxes of lost ranks go to other ranks.
func (r *Run) set(ctx context.Context, l int, version int64) error {
	info := r.h.Info(l)
	boxes := slices.Clone(info.Boxes)
	moved := false
	for i := range boxes {
		o := &boxes[i].Owner
		if int(*o) >= r.c.Size() || slices.Contains(r.lost, int(*o)) {
			alive := r.Alive()
			*o, moved = int32(alive[(i+l)%len(alive)]), true
		}
	}
	data := map[int][]float64{}
	var err error
	for i := range boxes {
		if int(boxes[i].Owner) == r.c.Rank() && err == nil {
			d := make([]float64, info.Offsets[i+1]-info.Offsets[i])
			err = r.h.Current(ctx, l, i, d)
			data[i] = d
		}
	}
	if err := comm.Agree(ctx, r.c, err); err != nil {
		return err
	}
	if err := comm.Agree(ctx, r.c, r.solver.Set(ctx, l, boxes, data)); err != nil {
		return err
	}
	r.at[l], r.dirty[l] = version, moved
	if moved {
		if _, err := r.h.Regrid(ctx, l, boxes); err != nil {
			return err
		}
	}
	return r.boxes.set(l, boxes)
}

// snapshot goes back to the newest whole snapshot up to a coarse step. why is the error that prevented a return to the versions
// of the plan.
func (r *Run) snapshot(ctx context.Context, coarse int64, why error) error {
	list := r.h.Snapshots()
	for i := len(list) - 1; i >= 0; i-- {
		n := list[i].Number
		parts, err := r.h.Parts(n)
		if list[i].Tainted || err != nil { // all ranks take this branch
			continue
		}
		err = r.h.RestoreSnapshot(ctx, n)
		if bad, err2 := r.damaged(ctx, err, -1, n); bad && err2 == nil {
			why = errors.Join(why, err)
			continue
		} else if err2 != nil {
			return err2
		}
		if r.h.Info(0).Step > coarse {
			continue
		}
		r.coarse, r.pc = r.h.Info(0).Step, 0
		for l := range r.planner.Levels {
			if err := r.set(ctx, l, parts[l].Version); err != nil {
				return err
			}
			r.begin[stamp{r.coarse, versioned.Step{Level: l}}] = parts[l].Version
		}
		return nil
	}
	return errors.Join(fmt.Errorf("no snapshot up to coarse step %d is whole: %w", coarse, ErrNoRecovery), why)
}

// resume continues from the hierarchy's current snapshot.
func (r *Run) resume(ctx context.Context) error {
	r.coarse = r.h.Info(0).Step
	r.begun = r.coarse
	for l := range r.planner.Levels {
		v := r.h.Version(l) // there may be newer versions that belong to no snapshot
		if err := r.set(ctx, l, v); err != nil {
			return err
		}
		r.begin[stamp{r.coarse, versioned.Step{Level: l}}] = v
	}
	return nil
}

// box reads the box of an event from the version at the beginning of the step and recomputes the box. The other boxes keep their
// results.
func (r *Run) box(ctx context.Context, bs BoxSolver, p Plan, e Event) error {
	l := p.From.Level
	boxes := r.boxes.tables[l]
	version, ok := r.begin[stamp{p.Coarse, p.From}]
	var err error
	if !ok || e.Box < 0 || e.Box >= len(boxes) {
		err = fmt.Errorf("box %d of level %d has no version from the beginning of step %v: %w", e.Box, l, p.From, ErrNoRecovery)
	} else if int(boxes[e.Box].Owner) == r.c.Rank() {
		info := r.h.Info(l)
		d := make([]float64, info.Offsets[e.Box+1]-info.Offsets[e.Box])
		if err = r.h.Box(ctx, l, version, &info, e.Box, d); err == nil {
			start := time.Now()
			err = caught(func() error { return bs.StepBox(ctx, r.raised, e.Box, d) })
			r.Stats.Took.Lost += time.Since(start)
		}
	}
	return comm.Agree(ctx, r.c, err)
}

func needs(s Scope) error { return fmt.Errorf("needs scope %v", s) }
