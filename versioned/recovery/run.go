package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"blobio/comm"
	"blobio/versioned"
)

// Run is a run of a Solver. All methods except Inspect are collective.
type Run struct {
	Registry *Registry // for handlers of the program
	Stats    Stats

	history
	c      comm.Comm
	solver Solver
	opt    Options
	config versioned.Config
	errs   boxErrors
	ops    []op
	boxes  replica

	coarse int64
	pc     int      // index of the next op
	begun  int64    // last coarse step whose regrid is done
	lost   []int    // ranks that own no boxes any more
	raised Moment   // the step whose events are being handled
	again  bool     // do not accept the step
	torn   bool     // a return failed, and levels are at different times
	gone   *Plan    // the part of the state reverted for events of this step
	tries  attempts // recoveries
	until  *Moment  // the step up to which steps are repeated
}

// op is one operation of a coarse step: a step of a level or, with average, the averaging of the next finer level's values.
type op struct {
	versioned.Step
	average bool
}

func program(s versioned.Subcycling, at versioned.Step) []op {
	out := []op{{Step: at}}
	if at.Level+1 < s.Levels {
		for k := range s.Ratio {
			out = append(out, program(s, versioned.Step{Level: at.Level + 1, Index: at.Index*s.Ratio + k})...)
		}
		out = append(out, op{at, true})
	}
	return out
}

// Open continues from the last snapshot of the store that is neither tainted nor damaged, on any number of ranks, or begins a
// run. A store of another program's run is an error.
func Open(ctx context.Context, c comm.Comm, st *versioned.Store, spec versioned.HierarchySpec, solver Solver, o *Options) (*Run, error) {
	r, err := newRun(ctx, c, spec, solver, o)
	if err != nil {
		return nil, err
	}
	if st != nil {
		if r.h, err = versioned.OpenHierarchy(ctx, c, st, spec.Name, r.opt.Versions); err == nil {
			return r, r.resume(ctx)
		}
		if older, oerr := r.older(ctx, st, spec.Name, err); older || oerr != nil {
			return r, oerr
		}
		if !errors.Is(err, versioned.ErrMissing) && !errors.Is(err, versioned.ErrNoVersion) {
			return nil, err
		}
	}
	opened := err
	if r.h, err = versioned.CreateHierarchy(ctx, c, st, spec, r.opt.Versions); err != nil {
		if errors.Is(err, versioned.ErrExist) { // the store is not new, and part of it is lost
			err = errors.Join(opened, err)
		}
		return nil, err
	}
	if err := comm.Agree(ctx, c, solver.Start(ctx)); err != nil {
		return nil, err
	}
	return r, r.lay(ctx, all(spec.Subcycling.Levels))
}

func newRun(ctx context.Context, c comm.Comm, spec versioned.HierarchySpec, solver Solver, o *Options) (*Run, error) {
	if err := comm.Agree(ctx, c, spec.Subcycling.Validate()); err != nil {
		return nil, err
	}
	levels := spec.Subcycling.Levels
	r := &Run{Registry: new(Registry), c: c, solver: solver, config: spec.Config, ops: program(spec.Subcycling, versioned.Step{}),
		boxes: replica{tables: make([][]versioned.BoxInfo, levels)}, tries: attempts{}}
	if o != nil {
		r.opt = *o
	}
	if r.opt.Versions == nil {
		r.opt.Versions = &versioned.Options{Durability: versioned.DurableSnapshot}
	}
	if r.opt.Dt == 0 {
		r.opt.Dt = 1
	}
	r.history = history{planner: Planner{Subcycling: spec.Subcycling, Cadence: spec.Config.Cadence}, dt: r.opt.Dt,
		at: make([]int64, levels), dirty: make([]bool, levels), begin: map[stamp]int64{}}
	r.Stats.Took.Steps, r.Stats.Took.Saves = make([][]float64, levels), make([][]float64, levels)
	r.errs.Limit = spec.Config.BoxLimit
	r.handlers()
	return r, comm.Agree(ctx, c, spec.Config.Validate(spec.Subcycling))
}

// older continues from an older snapshot if the last one is damaged.
func (r *Run) older(ctx context.Context, st *versioned.Store, name string, why error) (bool, error) {
	n := int64(0)
	if unreadable(why) && st.Dir != "" {
		n = 1
	}
	n, err := comm.AllreduceOne(ctx, r.c, n, comm.Max)
	if err != nil || n == 0 {
		return false, err
	}
	var list []versioned.VersionInfo
	var text []byte
	if r.c.Rank() == 0 { // other ranks may read another list
		if v, err := versioned.OpenView(filepath.Join(st.Dir, name+".global"), st.FS, nil); err == nil {
			text, _ = json.Marshal(v.Versions())
			_ = v.Close()
		}
	}
	if text, err = r.c.Bcast(ctx, 0, text); err != nil || len(text) == 0 {
		return false, err
	}
	if err := json.Unmarshal(text, &list); err != nil { // all ranks get the same result
		return false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		n := list[i].Number
		if list[i].Tainted || n == 0 {
			continue
		}
		if r.h, err = versioned.OpenHierarchyAt(ctx, r.c, st, name, n, r.opt.Versions); err != nil {
			continue // all ranks take this branch
		}
		var later []int64
		for _, v := range list[i+1:] {
			if !v.Tainted {
				later = append(later, v.Number)
			}
		}
		return true, errors.Join(r.h.Taint(ctx, -1, later...), r.resume(ctx))
	}
	return false, nil
}

// Of is Open for a hierarchy opened by other means, for example from an scr.Session. The run takes over the hierarchy.
func Of(ctx context.Context, c comm.Comm, h *versioned.Hierarchy, solver Solver, o *Options) (*Run, error) {
	r, err := newRun(ctx, c, h.Spec(), solver, o)
	if err != nil {
		return nil, err
	}
	r.h = h
	return r, r.resume(ctx)
}

func all(levels int) (out []int) {
	for l := range levels {
		out = append(out, l)
	}
	return out
}

// Hierarchy returns the hierarchy of the levels.
func (r *Run) Hierarchy() *versioned.Hierarchy { return r.h }

// Coarse returns the number of the current or next coarse step.
func (r *Run) Coarse() int64 { return r.coarse }

// Alive lists the ranks that may own boxes.
func (r *Run) Alive() []int { return without(r.c.Size(), r.lost) }

// without lists the ranks 0 to ranks-1 that are not lost.
func without(ranks int, lost []int) []int {
	return slices.DeleteFunc(all(ranks), func(n int) bool { return slices.Contains(lost, n) })
}

// Close ends the run. It keeps levels without a snapshot as versions.
func (r *Run) Close(ctx context.Context) error { return r.h.Close(ctx) }

// lay regrids the arrays of levels to the solver's current boxes.
func (r *Run) lay(ctx context.Context, levels []int) error {
	for _, l := range levels {
		if _, err := r.h.Regrid(ctx, l, r.solver.Boxes(l)); err != nil {
			return err
		}
		r.dirty[l] = true
		if err := r.boxes.set(l, r.solver.Boxes(l)); err != nil {
			return err
		}
	}
	return nil
}

// Go takes steps until the run has made steps coarse steps since time 0.
func (r *Run) Go(ctx context.Context, steps int64) error {
	for r.coarse < steps {
		err := r.next(ctx)
		// No collective is possible after ErrBroken. If a rank is gone, the context may end before the Comm breaks.
		if err != nil && (errors.Is(err, comm.ErrBroken) || ctx.Err() != nil) {
			herr := r.Registry.Raise(ctx, Event{Kind: "comm", Scope: Abort, Attr: map[string]any{"error": err.Error()}})
			if errors.Is(herr, ErrUnhandled) {
				herr = nil
			}
			return errors.Join(err, herr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next does one op.
func (r *Run) next(ctx context.Context) error {
	if r.pc == 0 && r.coarse > r.begun { // a repeated coarse step is not regridded again
		changed, err := r.solver.Regrid(ctx, r.coarse)
		if err := comm.Agree(ctx, r.c, err); err != nil {
			return err
		}
		if err := r.lay(ctx, changed); err != nil {
			return err
		}
	}
	r.begun = r.coarse
	o := r.ops[r.pc]
	now := Moment{Coarse: r.coarse, Step: o.Step}
	var err error
	if o.average {
		err = comm.Agree(ctx, r.c, r.solver.Average(ctx, now))
		r.dirty[o.Level] = true
		r.pc++
	} else {
		err = r.take(ctx, now)
	}
	if r.pc == len(r.ops) {
		r.coarse, r.pc = r.coarse+1, 0
	}
	return err
}

// take takes one step, or recovers from an event in it.
func (r *Run) take(ctx context.Context, now Moment) error {
	if err := r.save(ctx, now); err != nil {
		if errors.Is(err, comm.ErrBroken) {
			return err
		}
		r.again, r.gone, r.raised = false, nil, now
		if herr := r.raise(ctx, Event{Kind: "store", Level: now.Step.Level, Attr: map[string]any{}}, err); herr != nil {
			return errors.Join(err, herr)
		}
		if r.Stats.Unsaved++; r.again {
			return nil
		}
	}
	r.Stats.Steps++
	if r.until != nil {
		r.Stats.Again++
	}
	r.again, r.gone, r.raised = false, nil, now
	start, back := time.Now(), r.Stats.Took.Back
	event := r.step(ctx, now)
	if err := r.Registry.RaiseGlobal(ctx, r.c, event); err != nil {
		return err
	}
	if r.again {
		return nil
	}
	r.errs.StepDone(now.Step.Level)
	err := comm.Agree(ctx, r.c, r.solver.Accept(ctx, now))
	took := time.Since(start) - (r.Stats.Took.Back - back)
	r.Stats.Took.Step += took
	r.Stats.Took.Steps[now.Step.Level] = append(r.Stats.Took.Steps[now.Step.Level], took.Seconds())
	if r.until != nil {
		r.Stats.Took.Lost += took
	}
	if r.until != nil && *r.until == now {
		r.until = nil
	}
	r.dirty[now.Step.Level] = true
	r.pc++
	return err
}

// step computes a step. A failure on this rank becomes an event.
func (r *Run) step(ctx context.Context, now Moment) (e *Event) {
	err := caught(func() (err error) {
		e, err = r.solver.Step(ctx, now)
		return err
	})
	if err != nil {
		e = &Event{Kind: "temporary", Ranks: []int{r.c.Rank()}, Attr: map[string]any{"error": err.Error()}}
	}
	return e
}
