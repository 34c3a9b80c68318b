// Command amr-advection shows packages versioned and recovery on a running code: a subcycled AMR solver of the advection of
// a bump (2-D, periodic, upwind), whose levels are saved in arrays with versions. An injector breaks it where it is
// told to, and the run ends with the very bytes of one that nobody disturbed.
//
//	go run ./examples/amr-advection                                       # each failure mode once
//	go run ./examples/amr-advection -mode data -at 3:5 -cadence 1,1,2,4
//	go run ./examples/amr-advection -mode permanent -rank 2 -steps 20 -dir /tmp/amr
//	go run ./examples/amr-advection -steps 20 -measure                    # times beside the cost model
//	go run ./examples/amr-advection -lost -dir /tmp/lost                  # a node is lost with its directory
//	blobio versions ls /tmp/amr/permanent                                 # what is in the store
//
// Ranks are goroutines, or processes: built with -tags mpi and started by mpirun. Two of them
// are taken for a node.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"blobio/comm"
	"blobio/recovery"
	"blobio/versioned"
)

func main() {
	if err := story(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "amr-advection:", err)
		os.Exit(2)
	}
}

var allModes = []string{"data", "point", "temporary", "permanent", "metadata"}

func story(args []string, out io.Writer) error {
	f := flag.NewFlagSet("amr-advection", flag.ContinueOnError)
	ranks := f.Int("ranks", 4, "ranks (under mpirun: as many as it starts)")
	levels := f.Int("levels", 4, "levels, 1 to 6")
	steps := f.Int64("steps", 8, "coarse steps")
	regrid := f.Int64("regrid", 2, "coarse steps between regrids")
	side := f.Int("side", usual, "cells of a box and dimension")
	cadence := f.String("cadence", "", "every how many of its steps a level is saved, 0 never: a number for each level (default: 1 for all)")
	mode := f.String("mode", "", strings.Join(allModes, ", ")+" (default: one after the other)")
	coarse := f.Int64("coarse", -1, "coarse step of the failure (default: the middle)")
	at := f.String("at", "", "LEVEL:STEP of it in the coarse step (default: the last fine step)")
	rank := f.Int("rank", 1, "rank that is struck; for data, the box")
	times := f.Bool("measure", false, "measure saves, lost work and reconfiguration beside the cost model")
	dir := f.String("dir", "", "directory of the versions, a store for each mode (default: memory)")
	lost := f.Bool("lost", false, "the job dies in the failure's step and a node's directory below -dir is gone; then it goes on from an scr.Session")
	if err := f.Parse(args); err != nil {
		return err
	}
	o := settings{sub: recovery.Subcycling{Levels: *levels, Ratio: ratio}, steps: *steps, regrid: *regrid, side: int32(*side), durable: versioned.DurableSnapshot}
	if f.NArg() > 0 || *levels < 1 || *levels > 6 || *steps < 1 || *regrid < 1 || *ranks < 1 || *side < 4 || *side > 512 {
		return errors.New("want -levels 1 to 6, -steps, -regrid and -ranks of 1 or more, -side 4 to 512, and no arguments")
	}
	for l := range *levels {
		n := 1
		if *cadence != "" {
			parts := strings.Split(*cadence, ",")
			var err error
			if len(parts) != *levels {
				return fmt.Errorf("-cadence %s: %d numbers, want one for each of %d levels", *cadence, len(parts), *levels)
			}
			if n, err = strconv.Atoi(parts[l]); err != nil {
				return fmt.Errorf("-cadence %s: %w", *cadence, err)
			}
		}
		o.cadence = append(o.cadence, n)
	}
	if err := o.cadence.Validate(o.sub); err != nil {
		return err
	}
	fail := failure{Coarse: *coarse, Rank: *rank, Step: recovery.Step{Level: *levels - 1, Index: o.sub.Steps(*levels-1) - 1}}
	if *coarse < 0 {
		fail.Coarse = *steps / 2
	}
	if *at != "" {
		if n, err := fmt.Sscanf(*at, "%d:%d", &fail.Step.Level, &fail.Step.Index); n != 2 || err != nil ||
			fail.Step.Level < 0 || fail.Step.Level >= *levels || fail.Step.Index < 0 || fail.Step.Index >= o.sub.Steps(fail.Step.Level) {
			return fmt.Errorf("-at %s: want LEVEL:STEP, a step of the coarse step", *at)
		}
	}
	if *lost && (*dir == "" || o.cadence[0] == 0) {
		return errors.New("-lost: want -dir, and level 0 saved")
	}
	modes := allModes
	if *mode != "" {
		modes = []string{*mode}
	}
	return launch(*ranks, func(ctx context.Context, c comm.Comm) error {
		if *rank < 0 || *rank >= c.Size() {
			return fmt.Errorf("-rank %d of %d", *rank, c.Size())
		}
		w := out
		if c.Rank() != 0 {
			w = io.Discard
		}
		if *times {
			return measure(ctx, c, o, *dir, w)
		}
		if *lost {
			return tellLost(ctx, c, o, fail, home(*dir), w)
		}
		return tell(ctx, c, o, fail, modes, *dir, w)
	})
}

// tell runs the solver undisturbed, then once with each failure, and compares.
func tell(ctx context.Context, c comm.Comm, o settings, fail failure, modes []string, dir string, out io.Writer) error {
	one := func(o settings) (*solver, error) {
		s, err := newSolver(ctx, c, o)
		if err != nil {
			return nil, err
		}
		return s, s.run(ctx)
	}
	clean, err := one(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d ranks, %d coarse steps, cadence %v; boxes of the levels:", c.Size(), o.steps, o.cadence)
	for _, v := range clean.levels {
		fmt.Fprintf(out, " %d", len(v.tiles))
	}
	fmt.Fprintf(out, "\nundisturbed: %.1f ms in steps, %.1f ms in saves\n", ms(clean.r.Stats.Took.Step), ms(clean.r.Stats.Took.Save))
	for _, m := range modes {
		d := o
		d.fail = fail
		d.fail.Mode = m
		if dir != "" {
			d.store = &versioned.Store{Dir: filepath.Join(dir, m)}
		}
		s, err := one(d)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		verdict := "the result is that of the undisturbed run"
		if !bytes.Equal(s.result(), clean.result()) {
			return fmt.Errorf("%s: another result than that of the undisturbed run", m)
		}
		what := "nothing was planned"
		if p := s.plan(); p != nil {
			what = fmt.Sprintf("scope %v, back to %v of coarse step %d, %d steps taken again", p.Scope, p.From, p.Coarse, len(p.Redo))
		}
		fmt.Fprintf(out, "%-9s in %v of coarse step %d: %s; %.2f ms to reconfigure; %s\n", m, fail.Step, fail.Coarse, what, ms(s.r.Stats.Took.Back), verdict)
	}
	return nil
}

// tellLost is tell for the loss of a node with what it kept.
func tellLost(ctx context.Context, c comm.Comm, o settings, fail failure, h home, out io.Writer) error {
	clean, err := newSolver(ctx, c, o)
	if err != nil {
		return err
	}
	if err := clean.run(ctx); err != nil {
		return err
	}
	s, from, err := lostNode(ctx, c, o, fail, h)
	if err != nil {
		return err
	}
	if !bytes.Equal(s.result(), clean.result()) {
		return errors.New("another result than that of the undisturbed run")
	}
	fmt.Fprintf(out, "%d ranks: the job died in %v of coarse step %d and a node lost its directory; gone on from coarse step %d; the result is that of the undisturbed run\n",
		c.Size(), fail.Step, fail.Coarse, from)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
