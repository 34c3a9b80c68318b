package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"blobio/comm"
	"blobio/recovery"
)

const repeats = 5

// bar is what one cadence costs in a coarse step with one error: measured, median of the repeats, and by the model.
type bar struct {
	cadence         recovery.Cadence
	scope           recovery.Scope
	measured, model recovery.Cost
	low, high       float64 // of the measured sum
}

// measure lets data go bad in the last fine step of the middle coarse step, and compares what saving, lost work
// and reconfiguring cost with the model, whose times are measured by themselves.
func measure(ctx context.Context, c comm.Comm, o settings, file string, out io.Writer) error {
	fine := o.sub.Levels - 1
	o.fail = failure{Mode: "data", Coarse: o.steps / 2, Step: recovery.Step{Level: fine, Index: o.sub.Steps(fine) - 1}}
	every := make(recovery.Cadence, o.sub.Levels)
	global := make(recovery.Cadence, o.sub.Levels)
	half := make(recovery.Cadence, o.sub.Levels)
	for l := range every {
		every[l], half[l] = 1, max(o.sub.Steps(l)/2, 1)
	}
	global[0] = 1
	m, err := parts(ctx, c, o, every)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "measured alone, ms: put of a level %s, step %s, one box %.3f, all levels again %.3f\n", list(m.Put), list(m.Step), 1e3*m.Box, 1e3*m.Reconfig)
	fmt.Fprintf(out, "%-12s %-7s %28s   %28s   sum (min ... max)\n", "cadence", "scope", "measured save+lost+reconfig", "model save+lost+reconfig")
	var bars []bar
	for _, cadence := range []recovery.Cadence{global, half, every} {
		o.cadence = cadence
		var runs []recovery.Cost
		var scope recovery.Scope
		for range repeats {
			s, err := newSolver(ctx, c, o)
			if err != nil {
				return err
			}
			if err := s.run(ctx); err != nil {
				return err
			}
			scope = s.plan.Scope
			runs = append(runs, recovery.Cost{Save: s.took.save.Seconds() / float64(o.steps), Lost: s.took.lost.Seconds(), Reconfig: s.took.reconfig.Seconds()})
		}
		slices.SortFunc(runs, func(a, b recovery.Cost) int {
			if a.Total() < b.Total() {
				return -1
			}
			return 1
		})
		b := bar{cadence: cadence, scope: scope, measured: runs[repeats/2], low: runs[0].Total(), high: runs[repeats-1].Total()}
		p := recovery.Planner{Subcycling: o.sub, Cadence: cadence}
		if b.model, err = m.Cost(&p, o.fail.Step); err != nil {
			return err
		}
		bars = append(bars, b)
		fmt.Fprintf(out, "%-12s %-7v %28s   %28s   %.2f (%.2f ... %.2f) ms\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(cadence), " ", ","), "[]"), scope,
			cost(b.measured), cost(b.model), 1e3*b.measured.Total(), 1e3*b.low, 1e3*b.high)
	}
	if c.Rank() != 0 {
		return nil
	}
	return os.WriteFile(file, []byte(picture(bars)), 0o666)
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
	m := &recovery.Model{Ratio: o.sub.Ratio}
	var box, all []float64
	s.keep = true
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	for range repeats {
		start := time.Now()
		for l := range s.levels {
			if err := s.reload(ctx, l, s.h.Array(l).Newest(), true); err != nil {
				return nil, err
			}
		}
		all = append(all, time.Since(start).Seconds())
		table := s.h.Info(0)
		d := make([]float64, 2*s.levels[0].cells())
		start = time.Now()
		if err := s.h.Box(ctx, 0, s.h.Array(0).Newest(), &table, 0, d); err != nil {
			return nil, err
		}
		box = append(box, time.Since(start).Seconds())
	}
	slices.Sort(box)
	slices.Sort(all)
	m.Box, m.Reconfig = box[repeats/2], all[repeats/2]
	for l := range s.levels {
		m.Put = append(m.Put, s.took.saves[l].median())
		m.Step = append(m.Step, s.took.steps[l].median())
	}
	return m, s.h.Close(ctx)
}

// picture draws for each cadence two bars: measured and by the model.
func picture(bars []bar) string {
	const width, left, right, top, row = 720.0, 150.0, 80.0, 92.0, 64.0
	most := 1e-6 // seconds
	for _, b := range bars {
		most = max(most, b.high, b.model.Total())
	}
	height := top + row*float64(len(bars)) + 46
	x := func(v float64) float64 { return left + (width-left-right)*v/most }
	var s strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&s, format+"\n", a...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="sans-serif">`, width, height, width, height)
	p(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	p(`<text x="24" y="32" font-size="17" font-weight="bold" fill="#22262c">One coarse step with data corruption in its last fine step</text>`)
	p(`<text x="24" y="51" font-size="11" fill="#686e78">upper bar: measured (median of %d, the line from fastest to slowest); lower bar: the model; %d cores, %s</text>`, repeats, runtime.NumCPU(), runtime.GOARCH)
	names := []string{"save", "lost work", "reconfigure"}
	colors := []string{"#2878be", "#d66e20", "#0e825c"}
	at := left
	for i, n := range names {
		p(`<rect x="%g" y="64" width="12" height="12" fill="%s"/><text x="%g" y="74.5" font-size="11" fill="#22262c">%s</text>`, at, colors[i], at+17, n)
		at += 100
	}
	for i, b := range bars {
		y := top + row*float64(i)
		p(`<text x="%g" y="%g" font-size="12" text-anchor="end" fill="#22262c">cadence %s</text>`, left-10, y+20, strings.Trim(strings.ReplaceAll(fmt.Sprint(b.cadence), " ", ","), "[]"))
		p(`<text x="%g" y="%g" font-size="11" text-anchor="end" fill="#686e78">%s</text>`, left-10, y+36, b.scope)
		for k, c := range []recovery.Cost{b.measured, b.model} {
			from := 0.0
			for j, v := range []float64{c.Save, c.Lost, c.Reconfig} {
				p(`<rect x="%.2f" y="%.2f" width="%.2f" height="20" fill="%s" fill-opacity="%g"/>`, x(from), y+4+float64(k)*22, x(v)-left, colors[j], 1-0.45*float64(k))
				from += v
			}
			p(`<text x="%.2f" y="%.2f" font-size="10" fill="#22262c">%.2f ms</text>`, min(max(x(from), float64(1-k)*x(b.high))+6, width-48), y+18+float64(k)*22, 1e3*c.Total())
		}
		p(`<line x1="%.2f" x2="%.2f" y1="%.2f" y2="%.2f" stroke="#22262c"/>`, x(b.low), x(b.high), y+14, y+14)
	}
	bottom := top + row*float64(len(bars)) + 6
	p(`<line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#22262c"/>`, left, width-right, bottom, bottom)
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 4 {
		step /= 2
	}
	for v := 0.0; v <= most; v += step {
		p(`<text x="%.2f" y="%g" font-size="10" text-anchor="middle" fill="#686e78">%g</text>`, x(v), bottom+15, math.Round(1e6*v)/1e3)
	}
	p(`<text x="%g" y="%g" font-size="11" text-anchor="middle" fill="#22262c">milliseconds</text></svg>`, (left+width-right)/2, bottom+32)
	return s.String()
}
