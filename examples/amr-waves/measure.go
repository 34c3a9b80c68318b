package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"blobio/comm"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

const repeats = 5

// measure corrupts data in the last fine step of the middle coarse step. It compares the measured costs of saving, lost
// work and reconfiguration with the costs that the model predicts. The inputs of the model are measured separately.
func measure(ctx context.Context, c comm.Comm, s settings, dir string, out io.Writer) error {
	fine := versioned.Step{Level: levels - 1, Index: sub.Steps(levels-1) - 1}
	bad := injector{mode: "data", at: recovery.Moment{Coarse: s.steps / 2, Step: fine}}
	n := 0
	run := func(cadence versioned.Cadence, fail injector) (*water, error) { // each run has its own store
		d := s
		d.cadence, d.fail = cadence, fail
		if n++; dir != "" {
			d.store = &versioned.Store{Dir: filepath.Join(dir, fmt.Sprint("run", n))}
		}
		w, err := begin(ctx, c, d)
		if err != nil {
			return nil, err
		}
		return w, w.run.Go(ctx, s.steps)
	}
	w, err := run(versioned.Cadence{1, 1, 1}, injector{})
	if err != nil {
		return err
	}
	m, err := parts(ctx, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "measured alone, ms: put of a level %s, step %s, a snapshot %.3f, one box %.3f, all levels again %.3f\n", list(m.Put), list(m.Step), 1e3*m.Commit, 1e3*m.Box, 1e3*m.Reconfig)
	fmt.Fprintf(out, "%-12s %-7s %28s   %28s   sum (min ... max)\n", "cadence", "scope", "measured save+lost+reconfig", "model save+lost+reconfig")
	for _, cadence := range []versioned.Cadence{{1, 0, 0}, {1, 1, 2}, {1, 1, 1}} {
		var runs []recovery.Cost
		var scope recovery.Scope
		for range repeats {
			w, err := run(cadence, bad)
			if err != nil {
				return err
			}
			stats := &w.run.Stats
			scope = stats.Recoveries[len(stats.Recoveries)-1].Plan.Scope
			runs = append(runs, recovery.Cost{Save: stats.Took.Save.Seconds() / float64(s.steps), Lost: stats.Took.Lost.Seconds(), Reconfig: stats.Took.Back.Seconds()})
			if err := w.run.Close(ctx); err != nil {
				return err
			}
		}
		slices.SortFunc(runs, func(a, b recovery.Cost) int { return cmp.Compare(a.Total(), b.Total()) })
		p := recovery.Planner{Subcycling: sub, Cadence: cadence}
		model, err := m.Cost(&p, fine)
		if err != nil {
			return err
		}
		middle := runs[repeats/2]
		fmt.Fprintf(out, "%-12s %-7v %28s   %28s   %.2f (%.2f ... %.2f) ms\n", fmt.Sprint(cadence), scope,
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

// parts measures the inputs of the model at the end of a run without failures.
func parts(ctx context.Context, w *water) (*recovery.Model, error) {
	h := w.run.Hierarchy()
	m := w.run.Stats.Model(sub)
	var box, all []float64
	for range repeats {
		start := time.Now()
		for l := range w.levels {
			if err := h.RestoreLevel(ctx, l, h.Array(l).Newest()); err != nil {
				return nil, err
			}
			data := w.Data(l)
			for i := range data {
				if err := h.Current(ctx, l, i, data[i]); err != nil {
					return nil, err
				}
			}
			if err := w.Set(ctx, l, h.Info(l).Boxes, data); err != nil {
				return nil, err
			}
		}
		all = append(all, time.Since(start).Seconds())
		table := h.Info(0)
		d := make([]float64, comps*table.Boxes[0].Cells())
		start = time.Now()
		if err := h.Box(ctx, 0, h.Array(0).Newest(), &table, 0, d); err != nil {
			return nil, err
		}
		box = append(box, time.Since(start).Seconds())
	}
	slices.Sort(box)
	slices.Sort(all)
	m.Box, m.Reconfig = box[repeats/2], all[repeats/2]
	return m, w.run.Close(ctx)
}
