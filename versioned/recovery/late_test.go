package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// spreading executes a run step by step with an error in it and records which levels contain the error. It follows the rules of a
// subcycled solver, independently of the planner.
type spreading struct {
	sub   versioned.Subcycling
	since Moment
	dirty []bool   // by level: contains the error
	seen  []Moment // all steps, in order
	at    Moment
	done  bool
}

func (r *spreading) step(c int64, x versioned.Step) {
	now := Moment{c, x}
	r.seen = append(r.seen, now)
	l := x.Level
	if l > 0 && r.dirty[l-1] || now == r.since { // the error enters through boundaries
		r.dirty[l] = true
	}
	if now == r.at {
		r.done = true
		return
	}
	if l+1 == r.sub.Levels {
		return
	}
	for k := range r.sub.Ratio {
		if r.step(c, versioned.Step{Level: l + 1, Index: x.Index*r.sub.Ratio + k}); r.done {
			return
		}
	}
	if r.dirty[l+1] { // the error enters through averaging
		r.dirty[l] = true
	}
}

// TestLate compares the plan of every late error with a run in which the error spreads. No level that stays contains the error.
// The restored state was saved before the error by the cadence, and no finer return is possible. The steps after that state are
// repeated.
func TestLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := versioned.Subcycling{Levels: rapid.IntRange(1, 4).Draw(t, "levels"), Ratio: rapid.IntRange(1, 3).Draw(t, "ratio")}
		p := &Planner{Subcycling: s, Cadence: rapid.SliceOfN(rapid.IntRange(0, 3), s.Levels, s.Levels).Draw(t, "cadence")}
		moment := func(name string) Moment {
			l := rapid.IntRange(0, s.Levels-1).Draw(t, name+" level")
			return Moment{rapid.Int64Range(0, 3).Draw(t, name+" coarse"), versioned.Step{Level: l, Index: rapid.IntRange(0, s.Steps(l)-1).Draw(t, name+" step")}}
		}
		r := &spreading{sub: s, since: moment("since"), at: moment("at"), dirty: make([]bool, s.Levels)}
		for c := int64(0); c <= r.at.Coarse && !r.done; c++ {
			r.step(c, versioned.Step{})
		}
		index := func(m Moment) int {
			for i, x := range r.seen {
				if x == m {
					return i
				}
			}
			return -1
		}
		pl, err := p.Late(r.at, r.since)
		happened := index(r.since)
		if happened < 0 {
			if !errors.Is(err, fault.ErrUsage) {
				t.Fatalf("found before it happens: %+v, %v", pl, err)
			}
			return
		}
		// The run can return to the newest state of levels m ... Lmax saved before the error, if no level below m contains the error.
		best, bestAt := -1, -1
		for i, x := range r.seen[:happened+1] {
			m := x.Step.Level
			if !p.Cadence.Saved(x.Step, x.Coarse) {
				continue
			}
			within := m == 0 // the step of the level at the moment of the error, or an older snapshot
			if m > 0 {
				within = x.Coarse == r.since.Coarse && m <= r.since.Step.Level && s.At(m, r.since.Step) == x.Step.Index
			}
			for l := range m {
				within = within && !r.dirty[l]
			}
			if within && (m > best || m == 0 && best <= 0) {
				best, bestAt = m, i
			}
		}
		if best < 0 {
			if !errors.Is(err, ErrNoRecovery) {
				t.Fatalf("nothing is clean: %+v, %v", pl, err)
			}
			return
		}
		from := r.seen[bestAt]
		if err != nil || pl.Coarse != from.Coarse || pl.From != from.Step {
			t.Fatalf("%v since %v: %+v, %v; want %v", r.at, r.since, pl, err, from)
		}
		if c := p.coarsest(r.at, r.since); c != slices.Index(r.dirty, true) {
			t.Fatalf("%v hold it, the coarsest is %d", r.dirty, c)
		}
		redo := r.seen[bestAt:]
		if pl.Scope == Box {
			redo = redo[len(redo)-1:]
		}
		if len(redo) != len(pl.Redo) {
			t.Fatalf("%d steps again, want %d", len(pl.Redo), len(redo))
		}
		for i := range redo {
			if redo[i].Step != pl.Redo[i] {
				t.Fatalf("step %d again is %v, want %v", i, pl.Redo[i], redo[i])
			}
		}
		// Keep keeps all versions that the plan needs.
		levels, snapshots, err := p.Keep(int((r.at.Coarse-r.since.Coarse)*int64(s.Steps(s.Levels-1))) + p.start(r.at.Step) - p.start(r.since.Step))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, x := range r.seen[bestAt:] {
			if best == 0 {
				n += int(b2i(x.Step.Level == 0 && p.Cadence.Saved(x.Step, x.Coarse)))
			} else {
				n += int(b2i(x.Step.Level == best && p.written(x.Step, x.Coarse)))
			}
		}
		if best == 0 && n > snapshots || best > 0 && n > levels[best] {
			t.Fatalf("%d versions back, kept are %v and %d snapshots", n, levels, snapshots)
		}
	})
}
