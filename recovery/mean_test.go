package recovery

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The mean cost is that of the errors one by one, which the planner plans for.
func TestExpectedIsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Subcycling{Levels: rapid.IntRange(1, 5).Draw(t, "levels"), Ratio: rapid.IntRange(1, 4).Draw(t, "ratio")}
		time := rapid.Float64Range(0, 9)
		m := Model{Ratio: s.Ratio, Put: rapid.SliceOfN(time, s.Levels, s.Levels).Draw(t, "put"), Step: rapid.SliceOfN(time, s.Levels, s.Levels).Draw(t, "step"),
			Box: time.Draw(t, "box"), Reconfig: time.Draw(t, "reconfig"), Latency: time.Draw(t, "latency"), Anywhere: rapid.Bool().Draw(t, "anywhere")}
		p := &Planner{Subcycling: s, Cadence: rapid.SliceOfN(rapid.IntRange(0, 5), s.Levels, s.Levels).Draw(t, "cadence"), Implied: rapid.Bool().Draw(t, "implied")}
		rate := time.Draw(t, "rate")
		var want Cost
		var bad error
		for at := range s.Order() {
			w := 0.0
			if all := m.StepTime(); m.Anywhere && all > 0 {
				w = m.Step[at.Level] / all
			} else if at.Level == s.Levels-1 {
				w = 1 / float64(s.Steps(at.Level))
			} else {
				continue
			}
			c, err := m.Cost(p, at)
			if err != nil {
				bad = err
				break
			}
			want.Save = c.Save
			want.Lost += c.Lost * w * rate
			want.Reconfig += c.Reconfig * w * rate
		}
		got, err := m.Expected(p, rate)
		if bad != nil {
			if !errors.Is(err, ErrNoRecovery) || !errors.Is(bad, ErrNoRecovery) {
				t.Fatalf("%v, one by one %v", err, bad)
			}
			return
		}
		if err != nil || math.Abs(got.Lost-want.Lost) > 1e-9*(1+want.Lost) || math.Abs(got.Reconfig-want.Reconfig) > 1e-9*(1+want.Reconfig) || got.Save != want.Save || got.Alloc != 0 {
			t.Fatalf("%+v, %v; one by one %+v", got, err, want)
		}
	})
}

// The largest hierarchy that there can be is gone over once, not once for each of its steps: that would take hours.
func TestCostOfManySteps(t *testing.T) {
	const levels = maxLevels
	m := Model{Ratio: 2}
	p := &Planner{Subcycling: Subcycling{Levels: levels, Ratio: 2}, Cadence: make(Cadence, levels)}
	p.Cadence[0] = 1
	for range levels {
		m.Put, m.Step = append(m.Put, 1), append(m.Step, 1)
	}
	c, err := m.Expected(p, 1)
	// All steps before the error are lost: on average half of them and those in front of each fine step that are coarser.
	if err != nil || c.Lost < 1<<(levels-1) || c.Lost > 1<<levels {
		t.Errorf("%+v, %v", c, err)
	}
	if m.CanTry() {
		t.Error("all cadences of 20 levels are to be tried")
	}
	if _, _, err := m.BestCadence(1); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
	if !paper.CanTry() {
		t.Error("those of 4 levels are not")
	}
}

// A planner that is not of the model's hierarchy is refused, one without any too.
func TestPlannerOfAnotherHierarchy(t *testing.T) {
	for _, p := range []*Planner{{Cadence: Cadence{1, 1, 1, 1}}, {Subcycling: Subcycling{Ratio: 2}, Cadence: Cadence{1, 1, 1, 1}},
		{Subcycling: Subcycling{Levels: 4, Ratio: 3}, Cadence: Cadence{1, 1, 1, 1}}, {Subcycling: Subcycling{Levels: 5, Ratio: 2}, Cadence: Cadence{1, 1, 1, 1}}} {
		if _, err := paper.Expected(p, 1); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: expected cost: %v", p.Subcycling, err)
		}
		if _, err := paper.Cost(p, Step{3, 0}); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: cost: %v", p.Subcycling, err)
		}
		if _, err := paper.BreakEven(p, p, true); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: break-even: %v", p.Subcycling, err)
		}
	}
	n := 0
	for range (Subcycling{Ratio: 2}).Order() {
		n++
	}
	if n > 1 {
		t.Errorf("%d steps without levels", n)
	}
}

// Above the break-even the cadence that saves more costs less, below it the other one, whichever is named first.
func TestBreakEvenOfBothOrders(t *testing.T) {
	a, b := planner(1, 0, 0, 0), planner(1, 1, 1, 1)
	x, err := paper.BreakEven(a, b, false)
	y, err2 := paper.BreakEven(b, a, false)
	if err != nil || err2 != nil || math.Abs(x-y) > 1e-12 {
		t.Fatal(x, y, err, err2)
	}
	for _, f := range []float64{0.9, 1.1} {
		ca, _ := paper.Expected(a, f*x)
		cb, _ := paper.Expected(b, f*x)
		if (cb.Total() < ca.Total()) != (f > 1) {
			t.Errorf("at %v times the break-even %v and %v", f, ca.Total(), cb.Total())
		}
	}
}
