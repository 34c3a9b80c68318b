package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"errors"
	"math"
	"slices"
	"testing"
)

// The measured times of the paper on 512 cores.
var paper = Model{Ratio: 2, Alloc: 0.61, Put: []float64{1.37, 1.37, 1.37, 1.37}, Box: 0.0081,
	Step: []float64{1.82, 2.86, 3.03, 3.16}, Reconfig: 1.58}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var lastFine = versioned.Step{Level: 3, Index: 7}

func TestPaperGlobalSnapshots(t *testing.T) {
	c, err := paper.Cost(planner(1, 0, 0, 0), lastFine)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "T_save", c.Alloc+c.Save, 0.61+4*1.37, 1e-9)
	near(t, "T_save as printed", c.Alloc+c.Save, 6.09, 0.005)
	near(t, "T_lost", c.Lost, 1.82+2*2.86+4*3.03+8*3.16, 1e-9)
	near(t, "T_lost as printed", c.Lost, 44.94, 0.005)
	near(t, "T_reconfig", c.Reconfig, 1.58, 1e-9)
	near(t, "total as printed", c.Total(), 52.61, 0.005)
}

// The paper prints 0.61 + 1.37 + 2*1.37 + 4*1.37 + 8*1.37 = 20.55 and continues with that number. The sum is 21.16; without the
// 0.61 it is 20.55. The model computes the sum, and the test shows both.
func TestPaperPrints2055For2116(t *testing.T) {
	c, err := paper.Cost(planner(1, 1, 1, 1), lastFine)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "T_save by the printed expression", c.Alloc+c.Save, 21.16, 1e-9)
	near(t, "T_save as printed, without allocation", c.Save, 20.55, 1e-9)
	near(t, "T_lost", c.Lost, 3.16, 1e-9)
	near(t, "T_reconfig", c.Reconfig, 0.0081, 1e-9)
	near(t, "total as printed", c.Total()-c.Alloc, 23.72, 0.005)
	near(t, "total without allocation", c.Total()-c.Alloc, 23.7181, 1e-9)
	near(t, "total by the printed expression", c.Total(), 24.3281, 1e-9)
}

func TestPaperDerived(t *testing.T) {
	s1, s2 := planner(1, 0, 0, 0), planner(1, 1, 1, 1)
	v1, _ := paper.SaveTime(s1.Cadence)
	v2, _ := paper.SaveTime(s2.Cadence)
	near(t, "overhead of saving, global snapshots", v1/paper.StepTime(), 0.122, 0.0005)
	near(t, "overhead of saving, every step", v2/paper.StepTime(), 0.457, 0.0005)
	for j, want := range []float64{10.87, 14.03, 20.22, 23.38, 32.43, 35.59, 41.78, 44.94} {
		c, err := paper.Cost(s1, versioned.Step{Level: 3, Index: j})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "lost work", c.Lost, want, 1e-9)
	}
	e, err := paper.Expected(s1, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean lost work", e.Lost, 27.905, 1e-9)
	p, _ := paper.BreakEven(s1, s2, true)
	near(t, "break-even, last fine step", p, 0.3476, 0.00005)
	p, _ = paper.BreakEven(s1, s2, false)
	near(t, "break-even, random fine step", p, 0.5726, 0.00005)
	if p, err := paper.BreakEven(s1, s1, false); err != nil || !math.IsNaN(p) {
		t.Errorf("of a cadence with itself: %v, %v", p, err)
	}
}

func TestBestCadence(t *testing.T) {
	never, _, err := paper.BestCadence(0)
	if err != nil || !slices.Equal(never, versioned.Cadence{1, 0, 0, 0}) {
		t.Errorf("without errors: %v, %v", never, err)
	}
	// With errors only in fine steps, the levels in between need no versions of their own.
	often, cost, err := paper.BestCadence(50)
	if err != nil || !slices.Equal(often, versioned.Cadence{1, 0, 0, 1}) {
		t.Errorf("50 errors per step: %v, %v", often, err)
	}
	anywhere := paper
	anywhere.Anywhere = true
	if c, _, err := anywhere.BestCadence(50); err != nil || !slices.Equal(c, versioned.Cadence{1, 1, 1, 1}) {
		t.Errorf("50 errors per step, anywhere: %v, %v", c, err)
	}
	for a := range 2 { // no other cadence is better
		for b := range 3 {
			for c := range 4 {
				e, err := paper.Expected(planner(1, a, b, c), 50)
				if err != nil || e.Total() < cost.Total()-1e-9 {
					t.Errorf("cadence 1,%d,%d,%d: %v, %v < %v", a, b, c, err, e.Total(), cost.Total())
				}
			}
		}
	}
	if _, _, err := paper.BestCadence(math.NaN()); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
}

func TestLatency(t *testing.T) {
	m := paper
	m.Latency = 2
	a, _ := paper.Cost(planner(1, 1, 1, 1), lastFine)
	b, err := m.Cost(planner(1, 1, 1, 1), lastFine)
	if err != nil {
		t.Fatal(err)
	}
	// The lost time is the whole coarse step with its versions, except those at its beginning, and the next coarse step up to the
	// end of its second fine step.
	near(t, "two fine steps later", b.Lost, 44.94+15.07+(1.82+2.86+3.03+2*3.16)+(5.48+1.37), 1e-9)
	near(t, "at once", a.Lost, 3.16, 1e-9)
	m.Latency = 8*5 + 2
	c, err := m.Cost(planner(1, 1, 1, 1), lastFine)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "five coarse steps more", c.Lost-b.Lost, 5*(44.94+20.55), 1e-9)
}

func TestModelRefuses(t *testing.T) {
	for _, m := range []Model{{}, {Ratio: 2, Step: []float64{1}, Put: nil}, {Ratio: 2, Step: []float64{-1}, Put: []float64{1}}, {Ratio: 2, Step: []float64{math.NaN()}, Put: []float64{1}}} {
		if err := m.Validate(); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func TestConfig(t *testing.T) {
	good := versioned.Config{Cadence: versioned.Cadence{1, 1, 1, 1}, PerBox: true}
	if err := good.Validate(four); err != nil {
		t.Error(err)
	}
	bad := versioned.Config{Cadence: versioned.Cadence{1, 1, 2, 1}, PerBox: true}
	if err := bad.Validate(four); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
	for _, c := range []versioned.Config{{}, {Cadence: versioned.Cadence{1, 1, 1, -1}}, {Cadence: versioned.Cadence{1, 1, 1, 1}, Extra: -1}, {Cadence: versioned.Cadence{1, 1, 1, 1}, Confirm: 3}} {
		if err := c.Validate(four); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
