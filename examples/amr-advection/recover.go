package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"blobio/comm"
	"blobio/recovery"
)

// errAborted ends a run that is to be started again on fewer ranks.
var errAborted = errors.New("a node is gone")

// eps is the largest change of a value in a step that can be right: values are in 0 ... 1.
const eps = 1.0

func (s *solver) strikes(now recovery.Moment, modes ...string) bool {
	return slices.Contains(modes, s.fail.Mode) && now.Coarse == s.fail.Coarse && now.Step == s.fail.Step && s.c.Rank() == s.struck()
}

// struck is the rank at which the injector aims: for data, one that has a box of the level.
func (s *solver) struck() int {
	v := s.levels[s.fail.Step.Level]
	if s.fail.Mode == "data" || s.fail.Mode == "point" {
		if len(v.tiles) == 0 {
			return -1
		}
		return v.owner[s.fail.Rank%len(v.tiles)]
	}
	return s.fail.Rank
}

// corrupt spoils one value, or so many that the whole box is given up.
func (s *solver) corrupt(d []float64) {
	d[5] = 100
	if s.fail.Mode == "data" {
		d[17], d[30] = math.NaN(), math.Inf(-1)
	}
}

// inspect looks for values that cannot be, and mends single ones by computing them again.
func (s *solver) inspect(at recovery.Step, i int, old, next []float64) *recovery.Event {
	bad, err := recovery.Suspects(next[:len(next)/2], old[:len(old)/2], nil, eps)
	if err != nil || len(bad) == 0 {
		return nil
	}
	for _, k := range bad {
		if s.errs.Add(at.Level, i) {
			return &recovery.Event{Kind: "data", Level: at.Level, Box: i}
		}
		again := s.box(at, i, old)
		verdict, x, _ := recovery.Classify(next[k], old[k], eps, func() float64 { return again[k] }, 1)
		if verdict != recovery.Accept {
			return &recovery.Event{Kind: "data", Level: at.Level, Box: i}
		}
		next[k] = x
	}
	return nil
}

// lose makes this rank forget what it has, before it tells.
func (s *solver) lose() *recovery.Event {
	switch s.fail.Mode {
	case "metadata":
		s.meta[7] ^= 1
		return &recovery.Event{Kind: "metadata"}
	default:
		for _, v := range s.levels {
			for i := range v.data {
				v.data[i] = nil
			}
		}
		clear(s.next)
		return &recovery.Event{Kind: s.fail.Mode}
	}
}

// handlers registers what to do. Each refuses a scope that is too small for what
// happened; then the next larger one is tried.
func (s *solver) handlers() {
	on := func(kind string, plan func() (recovery.Plan, func(ctx context.Context, p recovery.Plan) error, error)) {
		s.reg.On("", recovery.Pred{recovery.Is("kind", kind)}, 0, func(ctx context.Context, e recovery.Event) error {
			p, act, err := plan()
			if err != nil {
				return err
			}
			if e.Scope != p.Scope {
				return fmt.Errorf("needs scope %v", p.Scope)
			}
			start := time.Now()
			if s.plan == nil {
				s.plan = &p
			}
			s.event = e
			err = act(ctx, p)
			s.took.reconfig += time.Since(start)
			return err
		})
	}
	on("data", func() (recovery.Plan, func(context.Context, recovery.Plan) error, error) {
		p, err := s.planner.Corruption(s.now())
		return p, s.rollback, err
	})
	for _, kind := range []string{"temporary", "permanent"} {
		on(kind, func() (recovery.Plan, func(context.Context, recovery.Plan) error, error) {
			owners := make(recovery.Owners, len(s.levels))
			for l, v := range s.levels {
				owners[l] = v.owner
			}
			f := s.planner.TemporaryLoss
			if kind == "permanent" {
				f = s.planner.PermanentLoss
			}
			p, err := f(s.now(), owners, s.c.Size(), []int{s.fail.Rank})
			return p.Plan, func(ctx context.Context, pl recovery.Plan) error { return s.replace(ctx, p) }, err
		})
	}
	on("metadata", func() (recovery.Plan, func(context.Context, recovery.Plan) error, error) {
		return recovery.Plan{Scope: recovery.Box, Coarse: s.coarse, From: s.now().Step}, func(ctx context.Context, _ recovery.Plan) error { return s.repairTables(ctx) }, nil
	})
}

// now is the step that is being taken.
func (s *solver) now() recovery.Moment {
	return recovery.Moment{Coarse: s.coarse, Step: s.ops[s.pc-1].Step}
}

// rollback takes the state back to where the plan says, and the program with it.
func (s *solver) rollback(ctx context.Context, p recovery.Plan) error {
	was := s.now()
	if s.until == nil {
		s.until = &was
	}
	if p.Scope == recovery.Box {
		return s.again1(ctx, p)
	}
	for l := p.From.Level; l < len(s.levels); l++ {
		k := p.From.Index
		for range l - p.From.Level {
			k *= s.sub.Ratio
		}
		version, ok := s.begin[stamp{p.Coarse, recovery.Step{Level: l, Index: k}}]
		if !ok {
			return fmt.Errorf("level %d has no version of the beginning of step %d of coarse step %d", l, k, p.Coarse)
		}
		if err := s.reload(ctx, l, version, true); err != nil {
			return err
		}
	}
	s.coarse, s.begun, s.again = p.Coarse, p.Coarse, true
	s.pc = slices.Index(s.ops, op{Step: p.From})
	return s.replicate()
}

// again1 reads the box that is wrong from the version of the beginning of the step, and computes it again. The
// others wait with what they have.
func (s *solver) again1(ctx context.Context, p recovery.Plan) error {
	s.boxed = true
	l := p.From.Level
	v := s.levels[l]
	var err error
	if box := s.event.Box; v.owner[box] == s.c.Rank() {
		table := s.h.Info(l)
		d := make([]float64, 2*s.levels[0].cells())
		if err = s.h.Box(ctx, l, s.begin[stamp{p.Coarse, p.From}], &table, box, d); err == nil {
			start := time.Now()
			s.next[box] = s.box(p.From, box, d)
			s.took.lost += time.Since(start)
			s.took.reconfig -= time.Since(start)
		}
	}
	return comm.Agree(ctx, s.c, err)
}

// reload reads the own boxes of a level from a version; with whole, the level returns to it, its boxes included.
func (s *solver) reload(ctx context.Context, l int, version int64, whole bool) error {
	v := s.levels[l]
	if whole {
		if err := s.h.RestoreLevel(ctx, l, version); err != nil {
			return err
		}
		s.at[l], s.dirty[l] = version, false
		owner := map[tile]int{}
		for i, t := range v.tiles {
			owner[t] = v.owner[i]
		}
		v.from(s.h.Info(l).Boxes)
		moved := false
		for i, t := range v.tiles {
			to, ok := owner[t]
			if !ok || !slices.Contains(s.alive, to) {
				to = v.owner[i]
			}
			if !slices.Contains(s.alive, to) {
				to = s.alive[i%len(s.alive)]
			}
			moved = moved || to != v.owner[i]
			v.owner[i] = to
		}
		if moved { // the version has other owners
			s.dirty[l] = true
			if _, err := s.h.Regrid(ctx, l, v.boxes()); err != nil {
				return err
			}
		}
	}
	var err error
	if len(v.tiles) > 0 {
		table := s.h.Info(l)
		for i := range v.tiles {
			if v.owner[i] == s.c.Rank() && err == nil {
				d := make([]float64, 2*s.levels[0].cells())
				err = s.h.Box(ctx, l, version, &table, i, d)
				v.data[i] = d
			}
		}
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	return v.exchange(ctx, s.c)
}

// replace recovers from the loss of a rank's memory: boxes that have new owners go to them, and the levels return to where the plan
// says.
func (s *solver) replace(ctx context.Context, p recovery.LossPlan) error {
	if s.fail.Mode == "permanent" {
		s.alive = slices.DeleteFunc(s.alive, func(r int) bool { return r == s.fail.Rank })
	}
	for l, v := range s.levels {
		v.owner = slices.Clone(p.Owners[l])
	}
	if len(p.Redo) > 0 {
		return s.rollback(ctx, p.Plan)
	}
	// The rank had no boxes. The step that was being taken is begun again.
	s.pc, s.again = s.pc-1, true
	return nil
}

// replicate makes each rank's replica of the box tables.
func (s *solver) replicate() error {
	b, err := json.Marshal(s.tables())
	s.meta = recovery.Seal(b)
	return err
}

func (s *solver) tables() (out [][]tile) {
	for _, v := range s.levels {
		out = append(out, v.tiles)
	}
	return out
}

// repairTables brings a good replica to ranks that have a bad one.
func (s *solver) repairTables(ctx context.Context) error {
	good, bad, err := recovery.RepairReplicas(ctx, s.c, s.meta, nil)
	if err != nil {
		return err
	}
	if !slices.Equal(bad, []int{s.fail.Rank}) {
		return fmt.Errorf("bad replicas on ranks %v, want %d", bad, s.fail.Rank)
	}
	s.meta = good
	s.pc, s.again = s.pc-1, true // the step is begun again
	return nil
}

// resume goes on from the snapshot that the hierarchy stands at.
func (s *solver) resume(ctx context.Context) error {
	s.coarse = s.h.Info(0).Step
	s.begun = s.coarse
	snaps := s.h.Snapshots()
	parts, err := s.h.Parts(snaps[len(snaps)-1].Number)
	if err != nil {
		return err
	}
	for l, v := range s.levels {
		v.from(s.h.Info(l).Boxes)
		for i := range v.owner {
			v.owner[i] = s.alive[(i+l)%len(s.alive)]
		}
		// Boxes have other owners now.
		s.dirty[l] = true
		if _, err := s.h.Regrid(ctx, l, v.boxes()); err != nil {
			return err
		}
		version := parts[l].Version // there may be newer ones, that belong to no snapshot
		if err := s.reload(ctx, l, version, false); err != nil {
			return err
		}
		s.begin[stamp{s.coarse, recovery.Step{Level: l}}] = version
	}
	return s.replicate()
}
