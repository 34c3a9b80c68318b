package runlog

import (
	"errors"
	"math"
	"testing"
	"time"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		c, m        time.Duration
		young, daly float64 // in seconds, computed by hand
	}{
		{50 * time.Second, 100 * time.Hour, 6000, 5966.712963}, // x = C/2M = 50/720000: 6000*(1 + sqrt(x)/3 + x/9) - 50
		{8 * time.Second, 100 * time.Second, 40, 34.844444444}, // x = 0.04: 40*(1 + 0.2/3 + 0.04/9) - 8
		{200 * time.Second, 100 * time.Second, 200, 100},       // C >= 2M
		{300 * time.Second, 100 * time.Second, 244.948974278, 100},
	} {
		if got := Young(c.c, c.m).Seconds(); math.Abs(got-c.young) > 1e-6 {
			t.Errorf("Young(%v, %v) = %f, want %f", c.c, c.m, got, c.young)
		}
		if got := Daly(c.c, c.m).Seconds(); math.Abs(got-c.daly) > 1e-6 {
			t.Errorf("Daly(%v, %v) = %f, want %f", c.c, c.m, got, c.daly)
		}
	}
	if Young(0, time.Hour) != 0 || Daly(time.Second, 0) != 0 || Young(-1, 1) != 0 {
		t.Error("no cost or no time")
	}
}

// A search finds the interval with the minimum expected run time. Daly's formula must give this interval within a few
// percent.
func TestDalyIsNearTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Float64Range(1, 100).Draw(t, "C")
		m := c * rapid.Float64Range(3, 1000).Draw(t, "M/C")
		// Expected time per second of work with interval t (Daly 2006, without restart cost): M (exp((t+C)/M) - 1) / t.
		loss := func(t float64) float64 { return m * math.Expm1((t+c)/m) / t }
		best := math.Inf(1)
		for x := 0.01 * m; x < 4*m; x *= 1.002 {
			best = min(best, loss(x))
		}
		// The search above begins at 1 % of m. A shorter optimum is close to Young's formula.
		for x := math.Sqrt(2*c*m) / 3; x < 3*math.Sqrt(2*c*m); x *= 1.002 {
			best = min(best, loss(x))
		}
		d := Daly(time.Duration(c*1e9), time.Duration(m*1e9)).Seconds()
		if got := loss(d); got > best*1.01 {
			t.Fatalf("C=%g M=%g: Daly %g loses %g, the best %g", c, m, d, got, best)
		}
	})
}

// at returns an entry of an artificial log. Times are in seconds.
func at(s int, event string, took ...float64) Entry {
	e := Entry{Time: when.Add(time.Duration(s) * time.Second), Event: event}
	if len(took) > 0 {
		e.Took = Num(time.Duration(took[0] * 1e9))
	}
	return e
}

func TestAnalyze(t *testing.T) {
	log := []Entry{
		at(0, RunStart),
		at(10, Start), // this run fails after 1000 s
		at(100, CheckpointEnd, 4), at(110, FlushSuccess, 6), at(480, ComputeEnd, 300), at(490, ComputeEnd), at(500, CheckpointEnd, 8), at(1010, ComputeStart),
		at(1100, Start), // this run fails at 3100, according to the run loop and a node failure
		at(1110, RestartSuccess, 3), at(1190, ComputeEnd, 100), at(1200, CheckpointEnd, 6), at(3000, ComputeStart),
		at(3100, RunEnd), at(3101, NodeFail), at(3160, ScavengeStart), at(3200, ScavengeEnd), at(3290, RunStart),
		at(3300, Start), // this run succeeds after 600 s
		at(3800, CheckpointEnd, 6), at(3850, AsyncFlushSuccess, 99), at(3900, Halt), at(3901, RunEnd),
		at(5000, Start), at(5400, ComputeStart), // this run is still running
	}
	s := Analyze(log)
	want := Stats{Checkpoints: 4, Cost: 6 * time.Second, FlushCost: 1500 * time.Millisecond,
		Runs: 4, Failures: 2, Lasted: (1000 + 2000 + 601 + 400) * time.Second, Computed: 200 * time.Second}
	if s != want {
		t.Errorf("\n%+v, want\n%+v", s, want)
	}
	c, err := s.Blocked()
	if err != nil || c != 7500*time.Millisecond {
		t.Errorf("cost %v, %v", c, err)
	}
	m, err := s.MTBF()
	if err != nil || m != 2000500*time.Millisecond {
		t.Errorf("MTBF %v, %v", m, err)
	}
	if got := Young(c, m).Seconds(); math.Abs(got-math.Sqrt(2*7.5*2000.5)) > 1e-6 {
		t.Errorf("Young %f", got)
	}
}

func TestAnalyzeNothing(t *testing.T) {
	s := Analyze(nil)
	if _, err := s.Blocked(); !errors.Is(err, ErrNoCost) {
		t.Error(err)
	}
	if _, err := s.MTBF(); !errors.Is(err, ErrNoFailure) {
		t.Error(err)
	}
	// Entries before any START belong to no run.
	if s := Analyze([]Entry{at(0, Halt), at(9, RunEnd), at(10, NodeFail)}); s.Failures != 0 || s.Lasted != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAnalyzeVectors(t *testing.T) {
	l, err := ReadFile(vfs.OS, testfiles.Dir(t, "scr", "xor_2_restarted_finalized", "prefix", ".scr", "log"))
	if err != nil {
		t.Fatal(err)
	}
	s := Analyze(l.Entries)
	if s.Checkpoints != 6 || s.Runs != 2 || s.Failures != 1 {
		t.Errorf("%+v", s)
	}
}

// TestAnalyzeEndedWell checks that a run with exit code 0 is not counted as failed, with or without HALT.
func TestAnalyzeEndedWell(t *testing.T) {
	end := func(s int, note string) Entry {
		e := at(s, RunEnd)
		e.Note = note
		return e
	}
	log := []Entry{at(0, Start), end(100, "run=1, exit code 0"), at(200, Start), end(300, "run=1, exit code 10"), at(400, Start), end(500, "run=2, exit code 0")}
	if s := Analyze(log); s.Failures != 1 || s.Runs != 3 {
		t.Errorf("%+v", s)
	}
}
