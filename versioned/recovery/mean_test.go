package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// planned returns the cost of an error by its plan: the repeated steps with the versions saved on the way, except the versions at
// the moment to which the plan returns.
func planned(m *Model, p *Planner, at versioned.Step) (lost, reconfig float64, err error) {
	save, err := m.SaveTime(p.Cadence)
	if err != nil {
		return 0, 0, err
	}
	n := int64(p.Steps(p.Levels - 1))
	for _, x := range m.late() {
		found, more := Moment{Step: at}, int64(0)
		if x.steps > 0 {
			fine := int64(p.start(at)) + x.steps
			more = max(fine/n-2, 0) // whole coarse steps with equal costs
			found = Moment{fine/n - more, versioned.Step{Level: p.Levels - 1, Index: int(fine % n)}}
		}
		pl, err := p.Late(found, Moment{Step: at})
		if err != nil {
			return 0, 0, err
		}
		cost, first := float64(more)*(m.StepTime()+save), true
		for i, s := range pl.Redo {
			cost += m.Step[s.Level]
			if first = first && (i == 0 || s.Level > 0 && p.start(s) == p.start(pl.From)); !first && pl.Scope != Box {
				cost += m.saves(p, s)
			}
		}
		lost += x.weight * cost
		if pl.Scope == Box {
			reconfig += x.weight * m.Box
		} else {
			reconfig += x.weight * m.Reconfig
		}
	}
	return lost, reconfig, nil
}

// TestCostOfPlans: the cost of an error equals the cost of its plan, and the mean cost equals the mean over all single errors.
func TestCostOfPlans(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+b) }
	rapid.Check(t, func(t *rapid.T) {
		s := versioned.Subcycling{Levels: rapid.IntRange(1, 5).Draw(t, "levels"), Ratio: rapid.IntRange(1, 4).Draw(t, "ratio")}
		time := rapid.Float64Range(0, 9)
		m := Model{Ratio: s.Ratio, Put: rapid.SliceOfN(time, s.Levels, s.Levels).Draw(t, "put"), Step: rapid.SliceOfN(time, s.Levels, s.Levels).Draw(t, "step"),
			Box: time.Draw(t, "box"), Reconfig: time.Draw(t, "reconfig"), Latency: time.Draw(t, "latency"), Anywhere: rapid.Bool().Draw(t, "anywhere")}
		p := &Planner{Subcycling: s, Cadence: rapid.SliceOfN(rapid.IntRange(0, 5), s.Levels, s.Levels).Draw(t, "cadence")}
		rate := time.Draw(t, "rate")
		lost, reconfig := 0.0, 0.0
		for at := range s.Order() {
			l, r, bad := planned(&m, p, at)
			c, err := m.Cost(p, at)
			if bad != nil {
				if _, mean := m.Expected(p, rate); !errors.Is(bad, ErrNoRecovery) || !errors.Is(err, ErrNoRecovery) || !errors.Is(mean, ErrNoRecovery) {
					t.Fatalf("%v: %v, %v, mean %v", at, bad, err, mean)
				}
				return
			}
			if err != nil || !near(c.Lost, l) || !near(c.Reconfig, r) {
				t.Fatalf("%v: %+v, %v; by its plan %v, %v", at, c, err, l, r)
			}
			switch all := m.StepTime(); {
			case m.Anywhere && all > 0:
				lost, reconfig = lost+l*m.Step[at.Level]/all, reconfig+r*m.Step[at.Level]/all
			case at.Level == s.Levels-1:
				lost, reconfig = lost+l/float64(s.Steps(at.Level)), reconfig+r/float64(s.Steps(at.Level))
			}
		}
		got, err := m.Expected(p, rate)
		if err != nil || !near(got.Lost, lost*rate) || !near(got.Reconfig, reconfig*rate) || got.Alloc != 0 {
			t.Fatalf("%+v, %v; one by one %v, %v", got, err, lost*rate, reconfig*rate)
		}
	})
}

// TestCostOfManySteps: the largest hierarchy is visited once, not once for each of its steps, which would take hours.
func TestCostOfManySteps(t *testing.T) {
	const levels = 18
	m := Model{Ratio: 2}
	p := &Planner{Subcycling: versioned.Subcycling{Levels: levels, Ratio: 2}, Cadence: make(versioned.Cadence, levels)}
	p.Cadence[0] = 1
	for range levels {
		m.Put, m.Step = append(m.Put, 1), append(m.Step, 1)
	}
	c, err := m.Expected(p, 1)
	// All steps before the error are lost: on average half of the fine steps, and the coarser steps before each of them.
	if err != nil || c.Lost < 1<<(levels-1) || c.Lost > 1<<levels {
		t.Errorf("%+v, %v", c, err)
	}
	if m.CanTry() {
		t.Error("all cadences of 18 levels are to be tried")
	}
	if _, _, err := m.BestCadence(1); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
	if !paper.CanTry() {
		t.Error("those of 4 levels are not")
	}
}

// TestPlannerOfAnotherHierarchy: a planner for another hierarchy than the model's is refused, and so is one without a hierarchy.
func TestPlannerOfAnotherHierarchy(t *testing.T) {
	for _, p := range []*Planner{{Cadence: versioned.Cadence{1, 1, 1, 1}}, {Subcycling: versioned.Subcycling{Ratio: 2}, Cadence: versioned.Cadence{1, 1, 1, 1}},
		{Subcycling: versioned.Subcycling{Levels: 4, Ratio: 3}, Cadence: versioned.Cadence{1, 1, 1, 1}}, {Subcycling: versioned.Subcycling{Levels: 5, Ratio: 2}, Cadence: versioned.Cadence{1, 1, 1, 1}}} {
		if _, err := paper.Expected(p, 1); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: expected cost: %v", p.Subcycling, err)
		}
		if _, err := paper.Cost(p, versioned.Step{Level: 3, Index: 0}); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: cost: %v", p.Subcycling, err)
		}
		if _, err := paper.BreakEven(p, p, true); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: break-even: %v", p.Subcycling, err)
		}
	}
	n := 0
	for range (versioned.Subcycling{Ratio: 2}).Order() {
		n++
	}
	if n > 1 {
		t.Errorf("%d steps without levels", n)
	}
}

// TestBreakEvenOfBothOrders: above the break-even rate the cadence with more saves costs less, below it the other one, in either
// order of arguments.
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
