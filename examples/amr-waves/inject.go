package main

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"blobio/versioned"
	"blobio/versioned/recovery"
)

// modes of failure.
var modes = []string{"point", "data", "failed", "panic", "permanent", "metadata", "late", "latent"}

// injector causes one failure of the run, at a step on a rank.
type injector struct {
	mode  string
	at    recovery.Moment // the moment of the failure
	found recovery.Moment // the moment when late errors are detected
	rank  int
	times int // how often the stuck value is still computed wrong
	done  bool
	told  bool

	before func(w *water) // for tests: called when the failure strikes a rank
	clock  *atomic.Int64  // for tests: stores the coarse step
}

func (x *injector) is(at recovery.Moment, modes ...string) bool {
	return !x.done && x.at == at && slices.Contains(modes, x.mode)
}

// blind reports whether the run does not check for impossible values.
func (x *injector) blind() bool { return x.mode == "latent" }

// spoil corrupts one computed value, which recomputation repairs, or several.
func (x *injector) spoil(w *water, at recovery.Moment, box int) {
	if x.is(at, "stuck") && x.times > 0 && box == 0 {
		x.times--
		w.levels[at.Step.Level].next[box][5] = 100
	}
	if !x.is(at, "point", "data") || box != len(w.levels[at.Step.Level].boxes)/2 {
		return
	}
	x.done = true
	d := w.levels[at.Step.Level].next[box]
	if d[5] = 100; x.mode == "data" {
		d[9], d[20] = math.NaN(), math.Inf(-1)
	}
}

// again returns the result of a second computation of value k.
func (x *injector) again(at recovery.Moment, k int, v float64) float64 {
	if x.is(at, "stuck") && k == 5 {
		return 100
	}
	return v
}

// strike injects the failure of a rank in a step.
func (x *injector) strike(w *water, at recovery.Moment) (*recovery.Event, error) {
	if x.clock != nil {
		x.clock.Store(at.Coarse)
	}
	if !x.told && x.found == at && (x.mode == "late" || x.mode == "latent") { // the error itself may have happened in an earlier job
		x.told, x.done = true, true
		if w.c.Rank() != x.rank {
			return nil, nil
		}
		if x.mode == "late" {
			return recovery.LateEvent(x.at), nil
		}
		return &recovery.Event{Kind: "late", Scope: recovery.Global}, nil // an event without the time of the error, which is unknown
	}
	if x.is(at, "abort") { // on all ranks
		return &recovery.Event{Kind: "abort", Scope: recovery.Abort}, nil
	}
	if !x.is(at, "failed", "panic", "permanent", "metadata") || w.c.Rank() != x.rank {
		return nil, nil
	}
	x.done = true
	if x.before != nil {
		x.before(w)
	}
	switch x.mode {
	case "metadata":
		f := w.levels[0]
		f.boxes = slices.Clone(f.boxes)
		f.boxes[0].Hi[0] ^= 1
		return &recovery.Event{Kind: "metadata"}, nil
	}
	for _, f := range w.levels { // lose all data of the rank
		for c := range f.now {
			for k := range f.now[c] {
				f.now[c][k], f.old[c][k] = math.NaN(), math.NaN()
			}
		}
		clear(f.next)
	}
	switch x.mode {
	case "panic":
		panic("the memory of the rank is gone")
	case "permanent":
		return &recovery.Event{Kind: "permanent", Ranks: []int{x.rank}}, nil
	}
	return nil, errors.New("the memory of the rank cannot be trusted")
}

// die ends this rank by a panic, or its process by SIGKILL.
func (x *injector) die(w *water, at recovery.Moment) {
	if w.c.Rank() != x.rank {
		return
	}
	if x.is(at, "dies") {
		panic("this rank is gone")
	}
	if x.is(at, "killed") {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // wait until the signal arrives
	}
}

// flip corrupts a value of the state on all ranks, as if the ranks had exchanged a wrong value. The
// error is not detected at once.
func (x *injector) flip(w *water, at recovery.Moment) {
	f := w.levels[at.Step.Level]
	if !x.is(at, "late", "latent") || len(f.boxes) == 0 {
		return
	}
	x.done = true
	v := 3.0
	if x.mode == "latent" {
		v = math.NaN()
	}
	f.cells(&f.boxes[len(f.boxes)/2], func(k, cell, _, _ int) {
		if k == 3 {
			f.now[0][cell] = v
		}
	})
}

// clean reports whether a snapshot has no NaN or infinite values.
func clean(ctx context.Context, h *versioned.Hierarchy, s *versioned.Snapshot) (bool, error) {
	for l, v := range s.Versions {
		t, err := h.Table(ctx, l, v)
		if err != nil {
			return false, err
		}
		for i := range t.Boxes {
			d := make([]float64, t.Offsets[i+1]-t.Offsets[i])
			if err := h.Box(ctx, l, v, t, i, d); err != nil || slices.ContainsFunc(d, math.IsNaN) {
				return false, err
			}
		}
	}
	return true, nil
}
