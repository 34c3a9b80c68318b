package cadence

import (
	"math"
	"testing"
	"time"
)

var t0 = time.Unix(1_300_000_000, 0)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func TestNeedNothingConfigured(t *testing.T) {
	if NewPacer(Pace{}, t0).Need(at(1e6), false) || !NewPacer(Pace{}, t0).Need(t0, true) {
		t.Error("only a halt is a reason")
	}
}

func TestNeedInterval(t *testing.T) {
	p := NewPacer(Pace{Interval: 3}, t0)
	for call := 1; call <= 10; call++ {
		// Need also counts calls in which halt is true.
		if got := p.Need(t0, call == 5); got != (call%3 == 0) && call != 5 {
			t.Errorf("call %d: %v", call, got)
		}
	}
}

func TestNeedSeconds(t *testing.T) {
	p := NewPacer(Pace{Seconds: 10}, t0)
	if p.Need(at(9.999), false) || !p.Need(at(10), false) {
		t.Error("before the first checkpoint the time runs from the start")
	}
	p.Start(at(12))
	p.Done(at(15)) // the interval begins at the end of the checkpoint, not at its start
	if p.Need(at(24.9), false) || !p.Need(at(25), false) {
		t.Error("after a checkpoint the time runs from its end")
	}
	if p.Need(at(-100), false) {
		t.Error("a clock set back")
	}
}

func TestNeedOverhead(t *testing.T) {
	p := NewPacer(Pace{Overhead: 10}, t0)
	if !p.Need(t0, false) {
		t.Error("the first checkpoint is due at once")
	}
	p.Start(t0)
	p.Done(at(1))
	p.Start(at(1))
	p.Done(at(4)) // mean cost 2 s: 2/(t+2) < 0.1 if t > 18
	if got := p.Mean(); got != 2*time.Second {
		t.Errorf("mean %v", got)
	}
	if p.Need(at(4+18), false) || !p.Need(at(4+18.01), false) {
		t.Error("10 % of the time")
	}
	if p.Need(at(0), false) {
		t.Error("a clock set back is no time passed")
	}
}

func TestHaltConditions(t *testing.T) {
	end := at(1000)
	for _, c := range []struct {
		name   string
		l      Limits
		before float64 // time of the last whole second in which the run may continue
		reason string  // reason to end from the next second on
	}{
		{"time limit", Limits{HaltSeconds: 100, EndTime: end}, 899, TimeLimit},
		{"time limit, seconds of the file", Limits{HaltSeconds: 100, EndTime: end, Halt: Halt{HaltSeconds: Int(300)}}, 699, TimeLimit},
		{"exit before", Limits{Halt: Halt{ExitBefore: Int(end.Unix())}}, 999, ExitBeforeTime},
		{"exit before, halt seconds", Limits{Halt: Halt{ExitBefore: Int(end.Unix()), HaltSeconds: Int(200)}}, 799, ExitBeforeTime},
		{"exit before, parameter", Limits{HaltSeconds: 50, Halt: Halt{ExitBefore: Int(end.Unix())}}, 949, ExitBeforeTime},
		{"exit after", Limits{Halt: Halt{ExitAfter: Int(end.Unix()), HaltSeconds: Int(200)}}, 999, ExitAfterTime},
	} {
		if v := c.l.Check(at(c.before)); v.Halt {
			t.Errorf("%s: halts a second early: %+v", c.name, v)
		}
		for _, later := range []float64{1, 2, 5000} { // a checkpoint stays due until one is taken
			if v := c.l.Check(at(c.before + later)); !v.Halt || v.Reason != c.reason || !v.Write || v.Note == "" {
				t.Errorf("%s: %v s later: %+v, want %s", c.name, later, v, c.reason)
			}
		}
	}
}

func TestHaltZeroMeansOff(t *testing.T) {
	for _, l := range []Limits{
		{},
		{EndTime: at(0)}, // without HaltSeconds there is no time limit
		{EndTime: at(0), Halt: Halt{HaltSeconds: Int(0)}, HaltSeconds: 50}, // 0 in the file disables the limit
		{HaltSeconds: 50}, // unknown end
		{Halt: Halt{CheckpointsLeft: Int(1)}},
	} {
		if v := l.Check(t0); v.Halt {
			t.Errorf("%+v: %+v", l, v)
		}
	}
}

func TestHaltReason(t *testing.T) {
	l := Limits{Halt: Halt{ExitReason: "user asked"}}
	if v := l.Check(t0); !v.Halt || v.Reason != "user asked" || v.Write {
		t.Errorf("%+v", v)
	}
	l.Halt.ExitReason = FinalizeCalled
	if v := l.Check(t0); v.Halt {
		t.Errorf("the library must run again after a clean end: %+v", v)
	}
	l.RunLoop = true
	if v := l.Check(t0); !v.Halt || v.Reason != FinalizeCalled || v.Write {
		t.Errorf("the run loop must stop: %+v", v)
	}
}

func TestCountdown(t *testing.T) {
	var h Halt
	if h.Countdown(1) || h.CheckpointsLeft.Set {
		t.Error("a counter that is not there was counted")
	}
	h.CheckpointsLeft = Int(2)
	for _, want := range []struct {
		changed bool
		left    int64
	}{{true, 1}, {true, 0}, {false, 0}} {
		if got := h.Countdown(1); got != want.changed || h.CheckpointsLeft.Value != want.left {
			t.Errorf("%v, left %d, want %+v", got, h.CheckpointsLeft.Value, want)
		}
	}
	if v := (Limits{Halt: h}).Check(t0); v.Reason != NoCheckpointsLeft {
		t.Errorf("%+v", v)
	}
}

// Extreme numbers in a halt file neither overflow nor hide other conditions.
func TestHaltExtremes(t *testing.T) {
	v := Limits{Halt: Halt{ExitBefore: Int(math.MinInt64), HaltSeconds: Int(math.MaxInt64)}}.Check(t0)
	if !v.Halt {
		t.Error("ExitBefore long ago")
	}
	v = Limits{Halt: Halt{ExitBefore: Int(math.MaxInt64), HaltSeconds: Int(math.MinInt64)}}.Check(t0)
	if v.Halt {
		t.Errorf("ExitBefore never: %+v", v)
	}
	v = Limits{HaltSeconds: math.MaxInt64, EndTime: at(1e6)}.Check(t0)
	if v.Reason != TimeLimit {
		t.Errorf("%+v", v)
	}
}

func TestFlushDue(t *testing.T) {
	for _, c := range []struct {
		id, n int64
		want  bool
	}{{10, 10, true}, {9, 10, false}, {20, 10, true}, {5, 1, true}, {5, 0, false}, {5, -1, false}, {0, 10, false}} {
		if got := FlushDue(c.id, c.n); got != c.want {
			t.Errorf("FlushDue(%d, %d) = %v", c.id, c.n, got)
		}
	}
}
