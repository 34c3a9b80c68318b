package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"blobio/comm"
	"blobio/recovery"
	"blobio/versioned"
)

const repeats = 5

// measure lets data go bad in the last fine step of the middle coarse step, and compares what saving, lost work
// and reconfiguring cost with the model, whose times are measured by themselves.
func measure(ctx context.Context, c comm.Comm, o settings, dir string, out io.Writer) error {
	fine := o.sub.Levels - 1
	o.fail = failure{Mode: "data", Coarse: o.steps / 2, Step: recovery.Step{Level: fine, Index: o.sub.Steps(fine) - 1}}
	every := make(recovery.Cadence, o.sub.Levels)
	global := make(recovery.Cadence, o.sub.Levels)
	half := make(recovery.Cadence, o.sub.Levels)
	for l := range every {
		every[l], half[l] = 1, max(o.sub.Steps(l)/2, 1)
	}
	global[0] = 1
	n := 0
	stores := func() *versioned.Store { // a new one for each run
		if n++; dir == "" {
			return nil
		}
		return &versioned.Store{Dir: filepath.Join(dir, fmt.Sprint("run", n))}
	}
	o.store = stores()
	m, err := parts(ctx, c, o, every)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "measured alone, ms: put of a level %s, step %s, a snapshot %.3f, one box %.3f, all levels again %.3f\n", list(m.Put), list(m.Step), 1e3*m.Commit, 1e3*m.Box, 1e3*m.Reconfig)
	fmt.Fprintf(out, "%-12s %-7s %28s   %28s   sum (min ... max)\n", "cadence", "scope", "measured save+lost+reconfig", "model save+lost+reconfig")
	for _, cadence := range []recovery.Cadence{global, half, every} {
		o.cadence = cadence
		var runs []recovery.Cost
		var scope recovery.Scope
		for range repeats {
			o.store = stores()
			s, err := newSolver(ctx, c, o)
			if err != nil {
				return err
			}
			if err := s.run(ctx); err != nil {
				return err
			}
			scope = s.plan().Scope
			took := &s.r.Stats.Took
			runs = append(runs, recovery.Cost{Save: took.Save.Seconds() / float64(o.steps), Lost: took.Lost.Seconds(), Reconfig: took.Back.Seconds()})
		}
		slices.SortFunc(runs, func(a, b recovery.Cost) int {
			if a.Total() < b.Total() {
				return -1
			}
			return 1
		})
		p := recovery.Planner{Subcycling: o.sub, Cadence: cadence}
		model, err := m.Cost(&p, o.fail.Step)
		if err != nil {
			return err
		}
		middle := runs[repeats/2]
		fmt.Fprintf(out, "%-12s %-7v %28s   %28s   %.2f (%.2f ... %.2f) ms\n", digits(cadence), scope,
			cost(middle), cost(model), 1e3*middle.Total(), 1e3*runs[0].Total(), 1e3*runs[repeats-1].Total())
	}
	return nil
}

func cost(c recovery.Cost) string {
	return fmt.Sprintf("%.2f + %.2f + %.2f", 1e3*c.Save, 1e3*c.Lost, 1e3*c.Reconfig)
}

func list(v []float64) string {
	var s []string
	for _, x := range v {
		s = append(s, fmt.Sprintf("%.3f", 1e3*x))
	}
	return strings.Join(s, "/")
}

// parts measures what the model is made of, in a run without failures.
func parts(ctx context.Context, c comm.Comm, o settings, every recovery.Cadence) (*recovery.Model, error) {
	o.cadence, o.fail = every, failure{}
	s, err := newSolver(ctx, c, o)
	if err != nil {
		return nil, err
	}
	s.keep = true
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	h := s.r.Hierarchy()
	m := s.r.Stats.Model(o.sub)
	var box, all []float64
	for range repeats {
		start := time.Now()
		for l := range s.levels {
			if err := h.RestoreLevel(ctx, l, h.Array(l).Newest()); err != nil {
				return nil, err
			}
			data := map[int][]float64{}
			for i := range s.levels[l].data {
				data[i] = make([]float64, 2*s.levels[l].cells())
				if err := h.Current(ctx, l, i, data[i]); err != nil {
					return nil, err
				}
			}
			if err := s.Set(ctx, l, h.Info(l).Boxes, data); err != nil {
				return nil, err
			}
		}
		all = append(all, time.Since(start).Seconds())
		table := h.Info(0)
		d := make([]float64, 2*s.levels[0].cells())
		start = time.Now()
		if err := h.Box(ctx, 0, h.Array(0).Newest(), &table, 0, d); err != nil {
			return nil, err
		}
		box = append(box, time.Since(start).Seconds())
	}
	slices.Sort(box)
	slices.Sort(all)
	m.Box, m.Reconfig = box[repeats/2], all[repeats/2]
	return m, s.r.Close(ctx)
}

// digits writes a cadence as flags have it.
func digits(c recovery.Cadence) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(c), " ", ","), "[]")
}
