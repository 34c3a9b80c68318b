package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"blobio/comm"
	"blobio/recovery"
	"blobio/scr"
	"blobio/versioned"
)

type solver struct {
	settings
	c       comm.Comm
	alive   []int
	levels  []*level
	h       *versioned.Hierarchy
	reg     *recovery.Registry
	planner recovery.Planner
	ops     []op
	errs    recovery.BoxErrors

	coarse int64
	pc     int
	begun  int64             // coarse step whose regrid is behind
	next   map[int][]float64 // of the step that is being taken: new data of the own boxes
	event  recovery.Event
	keep   bool            // run leaves the arrays open
	boxed  bool            // only a box was computed again
	again  bool            // a handler has taken the state back
	begin  map[stamp]int64 // version at the beginning of a step
	at     []int64         // by level: the version that it was saved as, or returned to
	dirty  []bool          // by level: changed since then
	done   bool            // the injector has struck
	redo   []recovery.Step // steps that were taken again
	until  *recovery.Moment
	plan   *recovery.Plan
	took   times
	copied [maxLevels][]float64
	meta   []byte // this rank's replica of the box tables
}

type stamp struct {
	coarse int64
	step   recovery.Step
}

// newSolver starts at time 0, or where the last snapshot of the store is.
func newSolver(ctx context.Context, c comm.Comm, o settings) (*solver, error) {
	s := &solver{settings: o, c: c, reg: recovery.NewRegistry(), ops: program(o.sub), begin: map[stamp]int64{},
		planner: recovery.Planner{Subcycling: o.sub, Cadence: o.cadence}, at: make([]int64, o.sub.Levels), dirty: make([]bool, o.sub.Levels)}
	for r := range c.Size() {
		s.alive = append(s.alive, r)
	}
	for l := range o.sub.Levels {
		s.levels = append(s.levels, newLevel(l, o.boxSide()))
	}
	s.handlers()
	opened := error(versioned.ErrMissing)
	if o.store != nil || o.deep != nil {
		var h *versioned.Hierarchy
		var err error
		if o.deep != nil {
			h, err = restart(ctx, c, o.deep)
		} else {
			h, err = versioned.OpenHierarchy(ctx, c, o.store, "phi", nil)
		}
		if err == nil {
			s.h = h
			return s, s.resume(ctx)
		}
		if !errors.Is(err, versioned.ErrMissing) && !errors.Is(err, versioned.ErrNoVersion) {
			return nil, err
		}
		opened = err
	}
	var err error
	// A run that was stopped before its first snapshot is begun again.
	s.h, err = versioned.CreateHierarchy(ctx, c, o.store, versioned.HierarchySpec{Name: "phi", Dim: 2, Comps: []string{"phi", "phi_old"},
		Subcycling: o.sub, Dx: 1 / float64(wide*o.boxSide()), Config: recovery.Config{Cadence: o.cadence, Extra: 0.5}, Chunk: 4096,
		// What a rollback may need: the versions since the last coarse step that was saved, and those of the snapshots.
		Keep: versioned.Retention{Last: 4 * o.sub.Steps(o.sub.Levels-1)}, Snapshots: versioned.Retention{Last: 4}}, nil)
	if errors.Is(err, versioned.ErrExist) { // it is not new, something of it is lost
		return nil, fmt.Errorf("cannot go on: %w, nor begin anew: %w", opened, err)
	}
	if err != nil {
		return nil, err
	}
	var tiles []tile
	for j := range int32(wide) {
		for i := range int32(wide) {
			tiles = append(tiles, tile{i, j})
		}
	}
	for l := range s.levels {
		if l > 0 {
			tiles = s.levels[l-1].flagged(limit / float64(int(1)<<l))
		}
		if err := s.place(ctx, l, tiles, func(t tile, k int) float64 {
			n, side := float64(s.levels[l].n), int(s.levels[l].side)
			return bump((float64(int(t[0])*side+k%side)+0.5)/n, (float64(int(t[1])*side+k/side)+0.5)/n)
		}); err != nil {
			return nil, err
		}
	}
	return s, s.replicate()
}

const limit = 0.03

// place gives a level boxes, and its own ones values.
func (s *solver) place(ctx context.Context, l int, tiles []tile, value func(t tile, k int) float64) error {
	v := s.levels[l]
	cells := v.cells()
	owner := make([]int, len(tiles))
	for i := range owner {
		owner[i] = s.alive[(i+l)%len(s.alive)]
	}
	data := map[int][]float64{}
	for i, t := range tiles {
		if owner[i] == s.c.Rank() {
			d := make([]float64, 2*cells)
			for k := range cells {
				d[k] = value(t, k)
			}
			copy(d[cells:], d[:cells])
			data[i] = d
		}
	}
	v.set(tiles, owner)
	v.data = data
	s.dirty[l] = true
	if _, err := s.h.Regrid(ctx, l, v.boxes()); err != nil {
		return err
	}
	return v.exchange(ctx, s.c)
}

// regridAll follows the bump with the fine levels.
func (s *solver) regridAll(ctx context.Context) error {
	for l := 1; l < len(s.levels); l++ {
		old, up := *s.levels[l], s.levels[l-1]
		err := s.place(ctx, l, up.flagged(limit/float64(int(1)<<l)), func(t tile, k int) float64 {
			side := old.side
			i, j := t[0]*side+int32(k)%side, t[1]*side+int32(k)/side
			if x, ok := old.at(i, j, 1); ok {
				return x
			}
			x, _ := up.at(i/ratio, j/ratio, 1)
			return x
		})
		if err != nil {
			return err
		}
	}
	return s.replicate()
}

// ghost is a cell of level l at the beginning of its step k: from its own boxes, or from coarser ones, between the
// beginning and the end of the step that they have taken already.
func (s *solver) ghost(l, k int, i, j int32) float64 {
	n := s.levels[l].n
	i, j = (i+n)%n, (j+n)%n
	if x, ok := s.levels[l].at(i, j, 1); ok {
		return x
	}
	for p, span := l-1, ratio; ; p, span = p-1, span*ratio {
		i, j = i/ratio, j/ratio
		if x, ok := s.levels[p].at(i, j, float64(k%span)/float64(span)); ok {
			return x
		}
	}
}

// box computes one box from the state at the beginning of the step.
func (s *solver) box(at recovery.Step, i int, old []float64) []float64 {
	t, side := s.levels[at.Level].tiles[i], s.levels[at.Level].side
	return advance(side, old, func(x, y int32) float64 { return s.ghost(at.Level, at.Index, t[0]*side+x, t[1]*side+y) })
}

// run takes all steps.
func (s *solver) run(ctx context.Context) error {
	for s.coarse < s.steps {
		if s.pc == 0 && s.coarse > 0 && s.coarse%s.regrid == 0 {
			if s.coarse > s.begun { // not when it is begun again
				if err := s.regridAll(ctx); err != nil {
					return err
				}
			}
		}
		s.begun = s.coarse
		for c := s.coarse; c == s.coarse && s.pc < len(s.ops); {
			o := s.ops[s.pc]
			if o.average {
				if err := s.average(ctx, o.Step); err != nil {
					return err
				}
				s.pc++
				continue
			}
			if err := s.take(ctx, o.Step); err != nil {
				return err
			}
		}
		if s.pc == len(s.ops) {
			s.coarse, s.pc = s.coarse+1, 0
		}
	}
	if s.keep {
		return nil
	}
	return s.h.Close(ctx)
}

// take takes one step, or recovers from what happened in it; s.pc says what comes next.
func (s *solver) take(ctx context.Context, at recovery.Step) error {
	now := recovery.Moment{Coarse: s.coarse, Step: at}
	if err := s.save(ctx, at); err != nil {
		return err
	}
	start := time.Now()
	v := s.levels[at.Level]
	s.next, s.again = map[int][]float64{}, false
	var event *recovery.Event
	for i := range v.tiles {
		if v.owner[i] != s.c.Rank() {
			continue
		}
		s.next[i] = s.box(at, i, v.data[i])
		if !s.done && s.strikes(now, "data", "point") {
			s.corrupt(s.next[i])
			s.done = true
		}
		if e := s.inspect(at, i, v.data[i], s.next[i]); e != nil {
			event = e
		}
	}
	if s.fail.Mode == "abort" && now.Coarse == s.fail.Coarse && now.Step == s.fail.Step {
		return errAborted // on all ranks
	}
	if !s.done && s.strikes(now, "temporary", "permanent", "metadata") {
		s.done = true
		event = s.lose()
	}
	s.errs.StepDone(at.Level)
	s.pc++
	if _, err := s.reg.RaiseGlobal(ctx, s.c, event); err != nil {
		return err
	}
	if s.again { // the handlers have taken the state back
		return nil
	}
	v.data = s.next
	s.dirty[at.Level] = true
	if err := v.exchange(ctx, s.c); err != nil {
		return err
	}
	d := time.Since(start)
	s.took.step += d
	s.took.steps[at.Level].add(d)
	if s.until != nil && !s.boxed {
		s.took.lost += d
	}
	s.boxed = false
	s.count(now)
	return nil
}

// count notes steps that are taken again, up to the one with the error.
func (s *solver) count(now recovery.Moment) {
	if s.until == nil {
		return
	}
	s.redo = append(s.redo, now.Step)
	if now == *s.until {
		s.until = nil
	}
}

// average brings the values of level l+1 down to l.
func (s *solver) average(ctx context.Context, at recovery.Step) error {
	l := at.Level
	v, f := s.levels[l], s.levels[l+1]
	side := v.side
	for i, t := range v.tiles {
		if v.owner[i] != s.c.Rank() {
			continue
		}
		d := slices.Clone(v.data[i])
		for k := range side * side {
			x, y := ratio*(t[0]*side+k%side), ratio*(t[1]*side+k/side)
			a, ok := f.at(x, y, 1)
			if !ok {
				continue
			}
			b, _ := f.at(x+1, y, 1)
			c, _ := f.at(x, y+1, 1)
			e, _ := f.at(x+1, y+1, 1)
			d[k] = (a + b + c + e) / 4
		}
		v.data[i] = d
	}
	s.dirty[l] = true
	return v.exchange(ctx, s.c)
}

// save makes the versions that are due at the beginning of a step: of the level, and of all finer ones, which stand at
// the same time. Nothing is saved at any other time, and not again what a rollback has just brought back.
func (s *solver) save(ctx context.Context, at recovery.Step) error {
	if !s.cadence.Saved(at, s.coarse) {
		return nil
	}
	changed := false
	for l := at.Level; l < len(s.levels); l++ {
		k := at.Index
		for range l - at.Level {
			k *= s.sub.Ratio
		}
		changed = changed || s.dirty[l]
		if err := s.saveLevel(ctx, l, k); err != nil {
			return err
		}
		s.begin[stamp{s.coarse, recovery.Step{Level: l, Index: k}}] = s.at[l]
	}
	if at.Level == 0 && changed {
		if s.copies {
			return nil
		}
		n, err := s.h.Snapshot(ctx)
		if err != nil || s.deep == nil {
			return err
		}
		parts, err := s.h.Parts(n)
		if err != nil {
			return err
		}
		return s.deep.Commit(ctx, fmt.Sprint("snapshot", n), scr.Checkpoint, parts...)
	}
	return nil
}

// saveLevel makes a version, unless the level is as one that there is.
func (s *solver) saveLevel(ctx context.Context, l, k int) error {
	if !s.dirty[l] {
		return nil
	}
	dt := 0.4 / float64(s.levels[l].n)
	start := time.Now()
	if s.copies {
		s.copyLevel(l)
		s.took.save += time.Since(start)
		s.dirty[l] = false
		return nil
	}
	n, err := s.h.Save(ctx, l, s.time(l, k), dt, s.coarse, s.levels[l].data)
	s.at[l] = n
	s.took.saves[l].add(time.Since(start))
	s.took.save += time.Since(start)
	s.dirty[l] = err != nil
	return err
}

// copyLevel copies what Save would put, into memory that is used again.
func (s *solver) copyLevel(l int) {
	b := s.copied[l][:0]
	for _, d := range s.levels[l].data {
		b = append(b, d...)
	}
	s.copied[l] = b
}

// time at the beginning of step k of a level, in coarse steps; exact, so that levels that
// stand at one time have one number.
func (s *solver) time(l, k int) float64 {
	return float64(s.coarse) + float64(k)/float64(s.sub.Steps(l))
}

// result is the final state: all boxes of all levels, from the views.
func (s *solver) result() []byte {
	var b []byte
	for _, v := range s.levels {
		for i, t := range v.tiles {
			b = fmt.Appendf(b, "%v", t)
			b = append(b, versioned.Bytes(v.view[i])...)
		}
	}
	return b
}
