// Command amr-waves runs a subcycled AMR solver of shallow water with package recovery. The solver's boxes move and have
// different sizes. Package recovery saves levels as versions and recovers from failures; the solver has no code for this. The
// flags select failures. A run with failures still ends with the same bytes as an undisturbed run.
//
//	go run ./examples/amr-waves                                             # each failure mode once
//	go run ./examples/amr-waves -mode late -at 1:2:1 -found 3:1:0           # COARSE:LEVEL:STEP
//	go run ./examples/amr-waves -mode failed -cadence 1,0,2 -dir /tmp/waves # after a kill, the same command continues
//	go run ./examples/amr-waves -measure -cells 64                          # times compared with the cost model
//
// Ranks are goroutines. If built with -tags mpi and started by mpirun, they are processes. With -mode killed, the process of the
// rank is killed at the moment of the error. The same command with a later moment continues the run.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"blobio/comm"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

func main() {
	if err := story(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "amr-waves:", err)
		os.Exit(2)
	}
}

const levels = 3

var sub = versioned.Subcycling{Levels: levels, Ratio: ratio}

type settings struct {
	steps   int64
	cells   int // number of cells of level 0 per dimension, a multiple of 8; 0 means 16
	cadence versioned.Cadence
	store   *versioned.Store
	fail    injector
	options recovery.Options

	systemic bool
	handled  bool          // the run continues if a save fails
	told     *atomic.Int64 // for tests: number of ranks that learned of the loss of another rank
}

func (s *settings) spec() versioned.HierarchySpec {
	return versioned.HierarchySpec{Name: "water", Dim: 2, Comps: []string{"h", "hu", "hv"}, Subcycling: sub, Dx: 1 / float64(cmp.Or(s.cells, usual)), Chunk: 4096,
		Config: versioned.Config{Cadence: s.cadence, Extra: 0.5, AbortSystemic: s.systemic}, Keep: versioned.Retention{Last: 2 * sub.Steps(levels-1)}, Snapshots: versioned.Retention{Last: 6}}
}

// begin returns a solver at time 0, or at the last snapshot of the store.
func begin(ctx context.Context, c comm.Comm, s settings) (*water, error) {
	fail := s.fail
	w := newWater(c, cmp.Or(s.cells, usual), &fail)
	s.options.Clean = clean
	r, err := recovery.Open(ctx, c, s.store, s.spec(), w, &s.options)
	if err != nil {
		return nil, err
	}
	w.run = r
	if s.handled {
		r.Registry.On(recovery.Pred{"kind": "store"}, 0, func(context.Context, recovery.Event) error { return nil })
	}
	if s.told != nil {
		r.Registry.On(recovery.Pred{"kind": "comm"}, 0, func(context.Context, recovery.Event) error { s.told.Add(1); return nil })
	}
	return w, nil
}

// solve runs the solver to its end.
func solve(ctx context.Context, c comm.Comm, s settings) (*water, *recovery.Run, error) {
	w, err := begin(ctx, c, s)
	if err != nil {
		return nil, nil, err
	}
	if err := w.run.Go(ctx, s.steps); err != nil {
		return nil, w.run, err
	}
	return w, w.run, w.run.Close(ctx)
}

func story(args []string, out io.Writer) error {
	f := flag.NewFlagSet("amr-waves", flag.ContinueOnError)
	ranks := f.Int("ranks", 4, "ranks (under mpirun: as many as it starts)")
	steps := f.Int64("steps", 6, "coarse steps")
	cadence := f.String("cadence", "1,1,1", "save interval of each level in its own steps; 0: never")
	mode := f.String("mode", "", strings.Join(modes, ", ")+" (default: one after the other), killed")
	at := f.String("at", "2:2:1", "COARSE:LEVEL:STEP of the error")
	found := f.String("found", "4:1:0", "COARSE:LEVEL:STEP in which late errors are noticed")
	rank := f.Int("rank", 1, "rank with the error")
	cells := f.Int("cells", usual, "cells of level 0 and dimension, a multiple of 8")
	times := f.Bool("measure", false, "measure saves, lost work and reconfiguration beside the cost model")
	dir := f.String("dir", "", "directory of the versions, a store for each mode (default: memory)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *cells < 8 || *cells%8 != 0 || *steps < 1 {
		return errors.New("-cells must be a multiple of 8, and -steps must be 1 or more")
	}
	s := settings{steps: *steps, cells: *cells, fail: injector{rank: *rank}, cadence: make(versioned.Cadence, levels)}
	if n, err := fmt.Sscanf(*cadence, "%d,%d,%d", &s.cadence[0], &s.cadence[1], &s.cadence[2]); n != levels || err != nil || s.cadence.Validate(sub) != nil {
		return fmt.Errorf("-cadence %s: want %d numbers, 0 or more", *cadence, levels)
	}
	for _, v := range []struct {
		text string
		to   *recovery.Moment
	}{{*at, &s.fail.at}, {*found, &s.fail.found}} {
		if n, err := fmt.Sscanf(v.text, "%d:%d:%d", &v.to.Coarse, &v.to.Step.Level, &v.to.Step.Index); n != 3 || err != nil {
			return fmt.Errorf("%q: want COARSE:LEVEL:STEP", v.text)
		}
	}
	list := modes
	if *mode != "" {
		list = []string{*mode}
	}
	return launch(*ranks, func(ctx context.Context, c comm.Comm) error {
		w := out
		if c.Rank() != 0 {
			w = io.Discard
		}
		if *times {
			return measure(ctx, c, s, *dir, w)
		}
		return tell(ctx, c, s, list, *dir, w)
	})
}

// tell runs the solver first undisturbed and then with each failure, and compares the results.
func tell(ctx context.Context, c comm.Comm, s settings, list []string, dir string, out io.Writer) error {
	plain := s
	plain.fail = injector{}
	want, _, err := solve(ctx, c, plain)
	if err != nil {
		return err
	}
	for _, m := range list {
		d := s
		d.fail.mode = m
		if dir != "" {
			d.store = &versioned.Store{Dir: filepath.Join(dir, m)}
		}
		got, r, err := solve(ctx, c, d)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if !bytes.Equal(got.result(), want.result()) {
			return fmt.Errorf("%s: result differs from the undisturbed run", m)
		}
		what := fmt.Sprintf("%d values mended", r.Stats.Mended)
		for _, x := range r.Stats.Recoveries {
			what = fmt.Sprintf("%s event: scope %v, back to %v of coarse step %d, %d steps taken again", x.Event.Kind, x.Plan.Scope, x.Plan.From, x.Plan.Coarse, len(x.Plan.Redo))
		}
		fmt.Fprintf(out, "%-9s %d steps, %d versions, %d snapshots; %s; the result equals the undisturbed run\n", m, r.Stats.Steps, r.Stats.Versions, r.Stats.Snapshots, what)
	}
	return nil
}
