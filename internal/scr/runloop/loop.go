package runloop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"blobio/internal/scr/config"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/runlog"
)

type loop struct {
	Options
	rep  *Report
	used []string // nodes of the previous run
}

// Run runs the program until it succeeds or there is a reason to stop. The report contains the reason. It tests nodes before and
// after each run. A node that fails a test is not used again, and a spare node replaces it. The loop ends when the program ends
// with exit code 0 (Done), a halt condition holds (Halted), or ctx is done (Interrupted). It also ends when too few nodes are
// left (TooFewNodes), when the node of the loop itself is down (OwnNodeDown), or when all allowed runs are used (NoRunsLeft).
// Then Run calls Options.Salvage. When Run returns, no process of the program is left. A signal cancels ctx. Then Run ends the
// current run but still salvages. Run returns an error if options are invalid or if the prefix directory cannot be used. The
// report describes how the program ended.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	l := &loop{o, &Report{Runs: []RunReport{}, Down: []Down{}, Salvage: "not wanted"}, nil}
	if o.Plain {
		l.plain(ctx)
		return l.rep, nil
	}
	if _, err := Prerun(ctx, o.Dir); err != nil {
		return nil, fmt.Errorf("prefix directory: %w", err)
	}
	err := l.runs(ctx)
	if l.Transfers != nil {
		l.Transfers.Stop()
	}
	l.rep.Down = append(l.rep.Down, l.Checker.Down()...)
	l.say("stop: %s: %s", l.rep.Stop, l.rep.Why)
	l.salvage(ctx)
	return l.rep, err
}

func (l *loop) say(format string, args ...any) { l.Say(fmt.Sprintf(format, args...)) }

func (l *loop) stop(s Stop, format string, args ...any) {
	l.rep.Stop, l.rep.Why = s, fmt.Sprintf(format, args...)
}

// plain runs the program once, because SCR is disabled.
func (l *loop) plain(ctx context.Context) {
	l.say("SCR_ENABLE is 0: the program runs once, without tests and salvage")
	prefix := ""
	if l.Dir != nil {
		prefix = l.Dir.Path
	}
	if x, ok := l.once(ctx, 1, l.Nodes, nil, prefix); ok {
		switch {
		case ctx.Err() != nil:
			l.stop(Interrupted, "a signal arrived")
		case x.Exit.Code == 0:
			l.stop(Done, "the program ended well")
		default:
			l.stop(NoRunsLeft, "%v", x.Exit)
		}
	}
}

// runs repeats runs until there is a reason to stop.
func (l *loop) runs(ctx context.Context) error {
	for n := 1; ; n++ {
		if stop, err := l.halted(ctx, n == 1); stop || err != nil {
			return err
		}
		if _, err := l.check(ctx); err != nil {
			l.stop(Interrupted, "a signal arrived")
			return nil
		}
		nodes, err := l.choose()
		if err != nil || nodes == nil {
			return err
		}
		x, ok := l.once(ctx, n, nodes, l.Checker.DownNodes(), l.Dir.Path)
		if !ok {
			return nil
		}
		l.used = nodes
		// After a signal, skip the node tests. Salvage itself finds the nodes that are up.
		if ctx.Err() == nil {
			x.Down, _ = l.check(ctx)
		}
		switch {
		case ctx.Err() != nil:
			l.stop(Interrupted, "a signal arrived")
			return nil
		case x.Exit.Code == 0 && x.Hung == "":
			l.stop(Done, "the program ended well in run %d", n)
			return nil
		case n >= l.Runs:
			l.stop(NoRunsLeft, "%d of %d", n, l.Runs)
			return nil
		}
		if stop, err := l.halted(ctx, false); stop || err != nil {
			return err
		}
		if l.Pause > 0 {
			l.say("waiting %v for the nodes to clean up", l.Pause)
			if l.Clock.Wait(ctx, l.Pause) != nil {
				l.stop(Interrupted, "a signal arrived")
				return nil
			}
		}
	}
}

// halted reports whether a halt condition forbids another run.
func (l *loop) halted(ctx context.Context, first bool) (bool, error) {
	if ctx.Err() != nil {
		l.stop(Interrupted, "a signal arrived")
		return true, nil
	}
	v, err := halt(ctx, &l.Options, first)
	switch {
	case ctx.Err() != nil:
		l.stop(Interrupted, "a signal arrived")
		return true, nil
	case err != nil:
		l.stop(Halted, "%v", err)
		return true, err
	case v.Halt:
		l.stop(Halted, "%s", v.Reason)
		if v.Note != "" && v.Note != v.Reason {
			l.rep.Why += ": " + v.Note
		}
	}
	return v.Halt, nil
}

// check tests the nodes and prints the newly excluded nodes.
func (l *loop) check(ctx context.Context) ([]Down, error) {
	fresh, skipped, err := l.Checker.Check(ctx, l.Nodes)
	for _, d := range fresh {
		l.say("node down: %v", d)
		l.log(runlog.Entry{Event: runlog.NodeFail, Note: d.String()})
	}
	for _, s := range skipped {
		known := slices.ContainsFunc(l.rep.Skipped, func(x Skipped) bool { return x.Test == s.Test })
		if !known {
			l.rep.Skipped = append(l.rep.Skipped, s)
			l.say("node test %s skipped: %s", s.Test, s.Why)
		}
	}
	return fresh, err
}

// choose returns the nodes for the next run, or nil if there are too few.
func (l *loop) choose() ([]string, error) {
	up := hostlist.Diff(l.Nodes, l.Checker.DownNodes())
	if l.Own != "" && slices.Contains(l.Nodes, l.Own) && !slices.Contains(up, l.Own) {
		l.stop(OwnNodeDown, "node %s, on which the loop runs, is down", l.Own)
		return nil, nil
	}
	want, err := need(l.Dir, l.MinNodes, len(l.Nodes))
	if err != nil {
		l.stop(NotStarted, "%v", err)
		return nil, err
	}
	if l.MinNodes == 0 && l.Use > 0 && want.Nodes == len(l.Nodes) { // only the caller specifies the number of nodes
		want = Need{l.Use, "nodes to use"}
	}
	if len(up) < want.Nodes || len(up) == 0 {
		l.stop(TooFewNodes, "%d of %d nodes are up, but a run needs %d (%s)", len(up), len(l.Nodes), want.Nodes, want.From)
		return nil, nil
	}
	n := want.Nodes
	if l.Use > 0 {
		n = min(max(l.Use, n), len(up))
	}
	return Place(l.used, up, n, l.Own), nil
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// once makes one run and waits until it ends. ok is false if the run could not be started.
func (l *loop) once(ctx context.Context, n int, nodes, down []string, prefix string) (x *RunReport, ok bool) {
	la := l.Launch
	la.Run, la.Nodes, la.Down = n, nodes, down
	la.Env = runEnv(&la, prefix, l.Nodes)
	if l.Transfers != nil {
		l.Transfers.Start(ctx, nodes)
		la.Env = environ(la.Env, EnvTransfer+"=1")
	}
	of := fmt.Sprint(" of ", l.Runs)
	if l.Runs == config.Unlimited {
		of = ""
	}
	l.say("run %d%s on %s: %s", n, of, hostlist.Compress(nodes), processes(la.Size()))
	began := l.Clock.Now()
	l.log(runlog.Entry{Event: runlog.RunStart, Note: fmt.Sprintf("run=%d", n), Nodes: runlog.Num(int64(len(nodes))), Procs: runlog.Num(int64(la.Size()))})
	job, err := l.Launcher.Start(ctx, la)
	if err != nil {
		if ctx.Err() != nil {
			l.stop(Interrupted, "a signal arrived")
		} else {
			l.stop(NotStarted, "%s", err.Error())
			l.rep.Err = err
		}
		return nil, false
	}
	l.rep.Runs = append(l.rep.Runs, RunReport{Run: n, Nodes: nodes})
	x = &l.rep.Runs[len(l.rep.Runs)-1]
	x.Hung = l.attend(ctx, job)
	x.Exit = job.Exit()
	took := l.Clock.Now().Sub(began)
	l.log(runlog.Entry{Event: runlog.RunEnd, Note: fmt.Sprintf("run=%d, %v", n, x.Exit), Took: &took, Nodes: runlog.Num(int64(len(nodes)))})
	l.say("run %d ended after %v: %v", n, took.Round(time.Millisecond), x.Exit)
	return x, true
}

// attend waits until a job ends. It ends the job after a signal, or if the watchdog finds that the job makes no progress.
func (l *loop) attend(ctx context.Context, job Job) (hung string) {
	verdict := make(chan string, 1)
	if w := l.Watchdog; w != nil && w.Timeout > 0 && w.Beat != nil {
		watched, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() { verdict <- w.watch(watched, l.Clock, job.Done()) })
	}
	for {
		select {
		case <-job.Done():
			return ""
		case <-ctx.Done():
			l.say("a signal arrived: the run is asked to end")
			l.end(job)
			return ""
		case hung = <-verdict: // the verdict is received only once
			select {
			case <-job.Done(): // the job ended at the same moment
				return ""
			default:
			}
			if hung != "" {
				l.say("watchdog: %s; the run is ended", hung)
				l.end(job)
				return hung
			}
		}
	}
}

// end asks a job to end and waits for it. It kills the job after the grace time.
func (l *loop) end(job Job) {
	job.End(false)
	ctx, cancel := context.WithCancel(context.Background())
	grace := make(chan error, 1)
	go func() { grace <- l.Clock.Wait(ctx, l.Grace) }()
	defer func() { cancel(); <-grace }()
	select {
	case <-job.Done():
		return
	case <-l.Hurry:
	case err := <-grace:
		grace <- err
	}
	l.say("the run is killed")
	job.End(true)
	<-job.Done()
}

// salvage saves datasets that exist only in caches.
func (l *loop) salvage(ctx context.Context) {
	if l.Salvage == nil {
		return
	}
	if len(l.rep.Runs) == 0 {
		l.rep.Salvage = "not needed"
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-l.Hurry:
			cancel()
		case <-ctx.Done():
		}
	})
	defer wg.Wait()
	defer cancel()
	began := l.Clock.Now()
	l.log(runlog.Entry{Event: runlog.ScavengeStart})
	err := l.Salvage(ctx, hostlist.Diff(l.Nodes, l.Checker.DownNodes()))
	took := l.Clock.Now().Sub(began)
	l.rep.Salvage = "done"
	note := ""
	if err != nil {
		note = err.Error()
		l.rep.Salvage = note
	}
	l.log(runlog.Entry{Event: runlog.ScavengeEnd, Note: note, Took: &took})
	l.say("salvage: %s", l.rep.Salvage)
}

// log writes an event. If the log cannot be written, the run continues.
func (l *loop) log(e runlog.Entry) {
	if err := l.Log.Put(e); err != nil {
		l.say("log: %v", err)
	}
}

// RunReport is the result of one run.
type RunReport struct {
	Run   int      `json:"run"`
	Nodes []string `json:"nodes"`
	Exit  Exit     `json:"exit"`
	Hung  string   `json:"hung,omitempty"` // reason for which the watchdog ended the run
	Down  []Down   `json:"down,omitempty"` // nodes that failed a test after the run
}

// Report is the result of all runs.
type Report struct {
	Stop    Stop        `json:"stop"`
	Why     string      `json:"why"` // Stop as a text for the user
	Runs    []RunReport `json:"runs"`
	Down    []Down      `json:"down"`
	Skipped []Skipped   `json:"skipped,omitempty"` // node tests that could not run
	Salvage string      `json:"salvage"`           // "done", "not needed", "not wanted", or the error
	Err     error       `json:"-"`                 // the error if Stop is NotStarted
}
