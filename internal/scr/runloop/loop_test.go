package runloop

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"blobio/internal/base/fault"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/runlog"
)

// world is the environment of a test case.
type world struct {
	o      *Options
	clock  *fakeClock
	l      *fakeLauncher
	test   *fakeTest
	cancel context.CancelFunc
	t      *testing.T
}

func (w *world) halt(change func(h *cadence.Halt)) {
	w.t.Helper()
	if err := w.o.Dir.Halt.Update(context.Background(), func(h *cadence.Halt) error { change(h); return nil }); err != nil {
		w.t.Error(err)
	}
}

func (w *world) prepare() {
	w.t.Helper()
	if err := w.o.Dir.Create(); err != nil {
		w.t.Fatal(err)
	}
}

var five = []string{"n1", "n2", "n3", "n4", "n5"}

func TestLoop(t *testing.T) {
	codes := func(w *world, list ...int) { // exit codes of the runs in turn
		w.l.run = func(l Launch, j *fakeJob) { j.finish(list[l.Run-1]) }
	}
	four := five[:4]
	tests := []struct {
		name  string
		set   func(w *world)
		stop  Stop
		why   string // text that Report.Why must contain
		nodes [][]string
		waits int // number of pauses
	}{
		{"ends well", func(w *world) { codes(w, 0) }, Done, "run 1", [][]string{five}, 0},
		{"second run ends well", func(w *world) { w.o.Runs = 3; codes(w, 1, 0) }, Done, "run 2", [][]string{five, five}, 1},
		{"one run only", func(w *world) { codes(w, 9) }, NoRunsLeft, "1 of 1", [][]string{five}, 0},
		{"no runs left", func(w *world) { w.o.Runs = 3; codes(w, 1, 2, 3) }, NoRunsLeft, "3 of 3", [][]string{five, five, five}, 2},
		{"four of five, a spare takes the place of the lost", func(w *world) {
			w.o.Runs, w.o.MinNodes = 2, 4
			w.l.run = func(l Launch, j *fakeJob) {
				if l.Run == 1 {
					w.test.bad = map[string]string{"n2": "gone"}
					j.finish(137)
				} else {
					j.finish(0)
				}
			}
		}, Done, "run 2", [][]string{four, {"n1", "n5", "n3", "n4"}}, 1},
		{"down before the first run", func(w *world) {
			w.o.MinNodes = 4
			w.test.bad = map[string]string{"n1": "gone"}
			codes(w, 0)
		}, Done, "", [][]string{{"n2", "n3", "n4", "n5"}}, 0},
		{"once bad, always bad", func(w *world) {
			w.o.Runs, w.o.MinNodes = 3, 3
			w.l.run = func(l Launch, j *fakeJob) {
				switch l.Run {
				case 1:
					w.test.bad = map[string]string{"n2": "gone"}
				case 2:
					w.test.bad = map[string]string{"n3": "gone"} // n2 seems healthy again
				}
				j.finish(min(3-l.Run, 1))
			}
		}, Done, "run 3", [][]string{{"n1", "n2", "n3"}, {"n1", "n4", "n3"}, {"n1", "n4", "n5"}}, 2},
		{"too few", func(w *world) {
			w.o.MinNodes, w.o.Runs = 5, 9
			w.l.run = func(l Launch, j *fakeJob) { w.test.bad = map[string]string{"n4": "gone"}; j.finish(1) }
		}, TooFewNodes, "4 of 5 nodes are up, but a run needs 5 (SCR_MIN_NODES)", [][]string{five}, 1},
		{"too few at once", func(w *world) { w.test.bad = map[string]string{"n4": "gone"} }, TooFewNodes, "all nodes", nil, 0},
		{"nodes.scr says how many", func(w *world) {
			w.o.Runs = 2
			w.l.run = func(l Launch, j *fakeJob) {
				w.o.Dir.Nodes.Write(5)
				w.test.bad = map[string]string{"n4": "gone"}
				j.finish(1)
			}
		}, TooFewNodes, "nodes of the last run", [][]string{five}, 1},
		{"nodes.scr of an earlier allocation says nothing", func(w *world) {
			w.prepare()
			w.o.Dir.Nodes.Write(2)
			codes(w, 0)
		}, Done, "", [][]string{five}, 0},
		{"nodes to use", func(w *world) { w.o.Use = 4; codes(w, 0) }, Done, "", [][]string{four}, 0},
		{"fewer than to use, but enough", func(w *world) {
			w.o.Use, w.o.MinNodes, w.o.Runs = 4, 3, 2
			w.l.run = func(l Launch, j *fakeJob) {
				w.test.bad = map[string]string{"n4": "gone", "n1": "gone"}
				j.finish(2 - l.Run)
			}
		}, Done, "", [][]string{four, {"n5", "n2", "n3"}}, 1},
		{"own node down", func(w *world) {
			w.o.Own, w.o.Runs, w.o.MinNodes = "n1", 2, 2
			w.l.run = func(l Launch, j *fakeJob) { w.test.bad = map[string]string{"n1": "gone"}; j.finish(1) }
		}, OwnNodeDown, "n1", [][]string{{"n1", "n2"}}, 1},
		{"own node is always used", func(w *world) { w.o.Own, w.o.MinNodes = "n5", 2; codes(w, 0) }, Done, "", [][]string{{"n5", "n1"}}, 0},
		{"own node is none of the allocation", func(w *world) { w.o.Own = "login"; codes(w, 0) }, Done, "", [][]string{five}, 0},
		{"halted before", func(w *world) {
			w.prepare()
			w.halt(func(h *cadence.Halt) { h.ExitReason = "maintenance" })
		}, Halted, "maintenance", nil, 0},
		{"an earlier allocation ended well", func(w *world) {
			w.prepare()
			w.halt(func(h *cadence.Halt) { h.ExitReason = cadence.FinalizeCalled })
			w.o.Runs = 2
			codes(w, 1, 0) // the first run fails before it writes nodes.scr
		}, Done, "", [][]string{five, five}, 1},
		{"the program finished, whatever its exit code", func(w *world) {
			w.o.Runs = 2
			w.l.run = func(l Launch, j *fakeJob) {
				w.halt(func(h *cadence.Halt) { h.ExitReason = cadence.FinalizeCalled })
				j.finish(1)
			}
		}, Halted, cadence.FinalizeCalled, [][]string{five}, 0},
		{"halted while the program ran", func(w *world) {
			w.o.Runs = 2
			w.l.run = func(l Launch, j *fakeJob) {
				w.halt(func(h *cadence.Halt) { h.CheckpointsLeft = cadence.Int(0) })
				j.finish(1)
			}
		}, Halted, cadence.NoCheckpointsLeft, [][]string{five}, 0},
		{"halted in the pause", func(w *world) {
			w.o.Runs = 2
			codes(w, 1)
			w.clock.on = func(time.Duration) { w.halt(func(h *cadence.Halt) { h.ExitReason = "stop it" }) }
		}, Halted, "stop it", [][]string{five}, 1},
		{"the pause is too long for the allocation", func(w *world) {
			w.o.Runs, w.o.HaltSeconds = 2, 30
			w.o.EndTime = w.clock.Now().Add(80 * time.Second)
			codes(w, 1)
		}, Halted, cadence.TimeLimit, [][]string{five}, 1},
		{"exit after", func(w *world) {
			w.prepare()
			w.halt(func(h *cadence.Halt) { h.ExitAfter = cadence.Int(w.clock.Now().Unix() + 50) })
			w.o.Runs = 5
			codes(w, 1, 1, 1, 1, 1)
		}, Halted, cadence.ExitAfterTime, [][]string{five}, 1},
		{"exit before", func(w *world) {
			w.prepare()
			w.halt(func(h *cadence.Halt) {
				h.ExitBefore = cadence.Int(w.clock.Now().Unix() + 200)
				h.HaltSeconds = cadence.Int(100)
			})
			w.o.Runs = 5
			codes(w, 1, 1, 1, 1, 1)
		}, Halted, cadence.ExitBeforeTime, [][]string{five, five}, 2},
		{"a signal in a run", func(w *world) {
			w.o.Runs = 5
			w.l.run = func(l Launch, j *fakeJob) { w.cancel() }
		}, Interrupted, "signal", [][]string{five}, 0},
		{"a signal in the pause", func(w *world) {
			w.o.Runs = 5
			codes(w, 1)
			w.clock.on = func(time.Duration) { w.cancel() }
		}, Interrupted, "signal", [][]string{five}, 1},
		{"a signal before", func(w *world) { w.cancel() }, Interrupted, "signal", nil, 0},
		{"no launcher", func(w *world) { w.l.err = errTest }, NotStarted, "test error", nil, 0},
		{"SCR_ENABLE=0", func(w *world) {
			w.o.Plain, w.o.Runs, w.o.Use = true, 5, 2
			w.test.bad = map[string]string{"n4": "gone"}
			codes(w, 4)
		}, NoRunsLeft, "exit code 4", [][]string{five}, 0},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w := &world{clock: newClock(), l: &fakeLauncher{}, test: &fakeTest{}, cancel: cancel, t: t}
			salvaged := 0
			w.o = &Options{Launcher: w.l, Launch: Launch{Args: []string{"prog", "x"}}, Nodes: five, Dir: memDir(t), Clock: w.clock,
				Checker: &Checker{Tests: []NodeTest{w.test.test()}},
				Salvage: func(ctx context.Context, up []string) error {
					salvaged++
					if err := ctx.Err(); err != nil {
						t.Errorf("salvage: %v", err)
					}
					for n := range w.test.bad {
						if slices.Contains(up, n) && c.stop != Interrupted {
							t.Errorf("%s is down, but to be salvaged from", n)
						}
					}
					return nil
				}}
			c.set(w)
			rep, err := Run(ctx, *w.o)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Stop != c.stop || !strings.Contains(rep.Why, c.why) {
				t.Errorf("stop: %s: %s; want %s: %s", rep.Stop, rep.Why, c.stop, c.why)
			}
			if d := cmp.Diff(c.nodes, w.l.nodes()); d != "" {
				t.Errorf("nodes of the runs: %s", d)
			}
			pauses := 0
			for _, d := range w.clock.waits {
				if d == defaultPause {
					pauses++
				}
			}
			if pauses != c.waits {
				t.Errorf("%d pauses, want %d", pauses, c.waits)
			}
			want := 1
			if c.nodes == nil || w.o.Plain {
				want = 0
			}
			if salvaged != want {
				t.Errorf("salvaged %d times, want %d", salvaged, want)
			}
			for _, l := range w.l.launches {
				for _, n := range l.Down {
					if slices.Contains(l.Nodes, n) {
						t.Errorf("run %d uses %s, which is down", l.Run, n)
					}
				}
				if !slices.Contains(l.Env, "BLOBIO_RUN_NODES="+strings.Join(l.Nodes, ",")) || !slices.Contains(l.Env, "SCR_NODELIST=n[1-5]") {
					t.Errorf("environment of run %d: %q", l.Run, l.Env)
				}
			}
		})
	}
}

func TestLoopUsage(t *testing.T) {
	good := Options{Launcher: &fakeLauncher{}, Launch: Launch{Args: []string{"x"}}, Nodes: five, Dir: memDir(t)}
	for name, spoil := range map[string]func(o *Options){
		"no launcher": func(o *Options) { o.Launcher = nil },
		"no prefix":   func(o *Options) { o.Dir = nil },
		"no nodes":    func(o *Options) { o.Nodes = nil },
		"no program":  func(o *Options) { o.Launch.Args = nil },
		"use 6":       func(o *Options) { o.Use = 6 },
		"need 6":      func(o *Options) { o.MinNodes = 6 },
	} {
		o := good
		spoil(&o)
		if _, err := Run(t.Context(), o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The log must list the events in order, with their times.
func TestLoopLog(t *testing.T) {
	var sink memSink
	clock, test := newClock(), &fakeTest{}
	l := &fakeLauncher{run: func(l Launch, j *fakeJob) {
		clock.Wait(context.Background(), 7*time.Second)
		test.bad = map[string]string{"n3": "disk died"}
		j.finish(2 - l.Run)
	}}
	rep, err := Run(t.Context(), Options{Launcher: l, Launch: Launch{Args: []string{"x"}, PerNode: 2}, Nodes: five, Dir: memDir(t), Clock: clock, Runs: 2, MinNodes: 4,
		Checker: &Checker{Tests: []NodeTest{test.test()}}, Salvage: func(context.Context, []string) error { return errTest },
		Log: runlog.New(runlog.Options{Host: "h", JobID: "j", Clock: clock.Now, Sinks: []runlog.Sink{&sink}})})
	if err != nil || rep.Stop != Done || rep.Salvage != "test error" {
		t.Fatal(rep, err)
	}
	want := []string{
		`host=h, jobid=j, event=RUN_START, note="run=1", procs=8, nodes=4`,
		`host=h, jobid=j, event=RUN_END, note="run=1, exit code 1", nodes=4, secs=7.000000`,
		`host=h, jobid=j, event=NODE_FAIL, note="n3: fake: disk died"`,
		`host=h, jobid=j, event=RUN_START, note="run=2", procs=8, nodes=4`,
		`host=h, jobid=j, event=RUN_END, note="run=2, exit code 0", nodes=4, secs=7.000000`,
		`host=h, jobid=j, event=SCAVENGE_START`,
		`host=h, jobid=j, event=SCAVENGE_END, note="test error", secs=0.000000`,
	}
	if d := cmp.Diff(want, sink.lines); d != "" {
		t.Error(d)
	}
}

type memSink struct{ lines []string }

func (m *memSink) Put(e *runlog.Entry) error {
	m.lines = append(m.lines, string(bytes.TrimSpace(e.AppendFields(nil))))
	return nil
}
func (m *memSink) Close() error { return nil }

// If a run does not end when it is asked, it is killed after the grace time, or at once after a
// second signal.
func TestEndOfRun(t *testing.T) {
	for _, hurry := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		clock := newClock()
		quick := make(chan struct{})
		var job *fakeJob
		l := &fakeLauncher{run: func(l Launch, j *fakeJob) {
			job = j
			j.onEnd = func(hard bool) {
				if hard {
					j.finish(137)
				} else if hurry {
					close(quick)
				}
			}
			cancel()
		}}
		var asked error
		o := Options{Launcher: l, Launch: Launch{Args: []string{"x"}}, Nodes: five, Dir: memDir(t), Clock: clock, Grace: 3 * time.Second, Hurry: quick,
			Salvage: func(ctx context.Context, up []string) error {
				if hurry {
					<-ctx.Done()
				}
				asked = ctx.Err()
				return asked
			}}
		if hurry {
			o.Clock = stuckClock{clock}
		}
		rep, err := Run(ctx, o)
		if err != nil || rep.Stop != Interrupted {
			t.Fatal(rep, err)
		}
		if !slices.Equal(job.ended, []bool{false, true}) {
			t.Errorf("asked to end: %v", job.ended)
		}
		if hurry != (asked != nil) {
			t.Errorf("hurry %v, salvage: %v", hurry, asked)
		}
	}
}

// stuckClock never completes a wait.
type stuckClock struct{ *fakeClock }

func (c stuckClock) Wait(ctx context.Context, d time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestPlace(t *testing.T) {
	for _, c := range []struct{ before, up, own, want string }{
		{"", "a b c", "", "a b"},
		{"", "a b c", "c", "c a"},
		{"a b", "a b c", "", "a b"},
		{"b a", "a b c", "", "b a"},
		{"a b", "b c d", "", "c b"},
		{"a b", "c d", "", "c d"},
		{"a b c", "a b c d", "", "a b"},
		{"a", "b c d", "d", "d b"},
		{"a b", "a b c", "c", "a c"},
	} {
		got := strings.Join(Place(strings.Fields(c.before), strings.Fields(c.up), 2, c.own), " ")
		if got != c.want {
			t.Errorf("before %q, up %q, own %q: %q, want %q", c.before, c.up, c.own, got, c.want)
		}
	}
}
