package runloop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"blobio/internal/fault"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/vfs"
)

// Checked is one step of the selftest.
type Checked struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Saw     string `json:"saw"`
	Reached bool   `json:"reached"` // false: a step before failed, so that this one could not be made
}

// SelftestOptions of Selftest.
type SelftestOptions struct {
	Launcher Launcher
	Nodes    []string // of the allocation, at least 3; one of them stays spare
	Own      string   // the node of the test itself; it is not the one to be lost
	Checker  *Checker
	// Program is what the launcher starts: it calls SelftestRank.
	Program []string
	Env     []string
	Dir     string // an empty directory that all nodes see
	// Kill has a node be lost, and its private directory with it. nil: a person does it, when Say asks.
	Kill func(ctx context.Context, node string) error
	// Limit is how long each step may take; 0: 2 minutes, 15 if a person kills the node.
	Limit time.Duration
	Pause time.Duration // between the two runs; 0: none
	Clock Clock
	Say   func(msg string)
}

// lookAgain is the time between two looks at files of the ranks.
const lookAgain = 20 * time.Millisecond

// Selftest walks the original's checklist for restarts in place on a new system:
// in an allocation of n nodes a program starts on n-1, saves a checkpoint and
// goes on; one of its nodes is lost; the loop must get control back, find the
// node, leave it out, and start the program again, which must find its
// checkpoint. The error says that the test could not be made.
func Selftest(ctx context.Context, o SelftestOptions) ([]Checked, error) {
	if len(o.Nodes) < 3 || len(o.Program) == 0 || o.Launcher == nil || o.Checker == nil {
		return nil, pkg.Errorf("a selftest wants a launcher, node tests, a program and 3 nodes, there are %d: %w", len(o.Nodes), ErrUsage)
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Limit == 0 {
		o.Limit = 2 * time.Minute
		if o.Kill == nil {
			o.Limit = 15 * time.Minute
		}
	}
	t := &selftest{SelftestOptions: o, use: len(o.Nodes) - 1}
	for _, n := range Place(nil, o.Nodes, t.use, o.Own) {
		if n != o.Own {
			t.victim = n // the last one that is not the own node
		}
	}
	d := prefixdir.Open(vfs.OS, o.Dir)
	pause := o.Pause
	if pause == 0 {
		pause = -1
	}
	rep, err := Run(ctx, Options{Launcher: t, Launch: Launch{Args: o.Program, Env: environ(o.Env, selftestDir+"="+o.Dir), Stdout: os.Stderr, Stderr: os.Stderr},
		Nodes: o.Nodes, Own: o.Own, Dir: d, Checker: o.Checker, Runs: 2, Use: t.use, MinNodes: t.use, Pause: pause, Clock: o.Clock, Say: o.Say})
	t.actors.Wait()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.judge(rep), nil
}

// selftest is the launcher of a selftest: it has the node be lost, and remembers
// what it saw.
type selftest struct {
	SelftestOptions
	use    int
	victim string

	actors   sync.WaitGroup
	launches []Launch
	jobs     []Job
	plan     string // of the second launch

	saved    string // why the checkpoint was not saved; "" if it was
	killed   bool
	killErr  error
	returned time.Duration
	late     bool
}

// Name implements Launcher.
func (t *selftest) Name() string { return t.Launcher.Name() }

// Plan implements Launcher.
func (t *selftest) Plan(l Launch) [][]string { return t.Launcher.Plan(l) }

// Start implements Launcher.
func (t *selftest) Start(ctx context.Context, l Launch) (Job, error) {
	t.launches = append(t.launches, l)
	if l.Run > 1 {
		var lines []string
		for _, argv := range t.Launcher.Plan(l) {
			lines = append(lines, strings.Join(argv, " "))
		}
		t.plan = strings.Join(lines, "\n")
	}
	j, err := t.Launcher.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	t.jobs = append(t.jobs, j)
	t.actors.Go(func() {
		if l.Run == 1 {
			t.act(ctx, j)
		} else if !t.wait(ctx, j, func() bool { return false }) {
			j.End(true)
		}
	})
	return j, nil
}

// wait returns true when the job is over, or what it waits for is there, and false when the time is up.
func (t *selftest) wait(ctx context.Context, j Job, there func() bool) bool {
	for began := t.Clock.Now(); t.Clock.Now().Sub(began) < t.Limit; {
		select {
		case <-j.Done():
			return true
		default:
		}
		if there() || t.Clock.Wait(ctx, lookAgain) != nil {
			return true
		}
	}
	return false
}

// act waits until all ranks of the first run have saved their checkpoint, has the node be lost, and waits for the end.
func (t *selftest) act(ctx context.Context, j Job) {
	missing := func() string {
		for r := range t.use {
			if _, err := os.Stat(reportName(t.Dir, 1, r)); err != nil {
				return fmt.Sprintf("rank %d has not saved its checkpoint", r)
			}
		}
		return ""
	}
	t.wait(ctx, j, func() bool { return missing() == "" })
	if t.saved = missing(); t.saved != "" || ctx.Err() != nil {
		j.End(true)
		return
	}
	began := t.Clock.Now()
	if t.Kill == nil {
		t.Say(fmt.Sprintf("now have node %s be lost (switched off); %v are left", t.victim, t.Limit))
	} else if t.killErr = t.Kill(ctx, t.victim); t.killErr != nil {
		j.End(true)
		return
	}
	t.killed = true
	if !t.wait(ctx, j, func() bool { return false }) {
		t.late = true
		j.End(true)
	}
	t.returned = t.Clock.Now().Sub(began)
}

// judge says what each step showed.
func (t *selftest) judge(rep *Report) (out []Checked) {
	good := true // so far
	step := func(name string, ok bool, format string, args ...any) {
		c := Checked{Name: name, Reached: good, Saw: "not reached: a step before failed"}
		if good {
			c.OK, c.Saw = ok, fmt.Sprintf(format, args...)
			good = ok
		}
		out = append(out, c)
	}
	first, second := &RunReport{}, &RunReport{}
	if len(rep.Runs) > 0 {
		first = &rep.Runs[0]
	}
	if len(rep.Runs) > 1 {
		second = &rep.Runs[1]
	}
	var early, found []Down // before the first run, and since
	for _, d := range rep.Down {
		if len(t.launches) == 0 || slices.Contains(t.launches[0].Down, d.Node) {
			early = append(early, d)
		} else {
			found = append(found, d)
		}
	}
	say := fmt.Sprintf("%d nodes, %s", len(t.Nodes), hostlist.Compress(t.Nodes))
	if len(early) > 0 {
		say = early[0].String()
	}
	for _, s := range rep.Skipped {
		say += fmt.Sprintf("; test %s left out: %s", s.Test, s.Why)
	}
	step("all nodes pass the node tests", len(early) == 0, "%s", say)

	say = fmt.Sprintf("%d ranks on %s", t.use, hostlist.Compress(first.Nodes))
	if len(rep.Runs) == 0 {
		say = rep.Why
	} else if t.saved != "" {
		say = t.saved + "; " + first.Exit.String()
	}
	step("the program starts and saves a checkpoint", t.saved == "" && len(rep.Runs) > 0, "%s", say)
	say = fmt.Sprintf("%s was lost, and this process goes on", t.victim)
	if !t.killed {
		say = fmt.Sprintf("%s could not be made to be lost: %v", t.victim, t.killErr)
	}
	step("the job survives the loss of a node", t.killed, "%s", say)
	say = fmt.Sprintf("after %v: %v", t.returned.Round(time.Millisecond), first.Exit)
	if t.late {
		say = fmt.Sprintf("not within %v; it had to be ended", t.Limit)
	}
	step("the launcher returns", !t.late && first.Exit.Code != 0, "%s", say)
	if len(t.jobs) > 0 {
		if p, ok := t.jobs[0].(interface{ Pids() []int }); ok {
			var left []int
			for _, id := range p.Pids() {
				if alive(id) {
					left = append(left, id)
				}
			}
			say = fmt.Sprintf("none of %d", len(p.Pids()))
			if len(left) > 0 {
				say = fmt.Sprintf("%d of %d: %v", len(left), len(p.Pids()), left)
			}
			step("no process of it is left", len(left) == 0, "%s", say)
		}
	}
	var names []string
	say = "no node"
	for i, d := range found {
		names = append(names, d.Node)
		if i == 0 {
			say = d.String()
		}
	}
	if len(names) > 1 {
		say = "not that node alone, but " + hostlist.Compress(names)
	}
	step("the node tests find the lost node", slices.Equal(names, []string{t.victim}), "%s", say)

	say = "there was no second launch: " + string(rep.Stop) + ", " + rep.Why
	ok := len(t.launches) > 1
	if ok {
		ok = !slices.Contains(t.launches[1].Nodes, t.victim) && len(t.launches[1].Nodes) == t.use
		say = fmt.Sprintf("%s instead of %s, without %s", strings.Join(t.launches[1].Nodes, ","), strings.Join(t.launches[0].Nodes, ","), t.victim)
	}
	step("the next launch avoids it and takes the spare", ok, "%s", say)
	step("a second run works in the broken allocation", len(rep.Runs) > 1 && second.Exit.Code == 0, "%v", second.Exit)
	ok, say = t.restarted()
	step("it restarts from the checkpoint", ok, "%s", say)
	step("the whole cycle", rep.Stop == Done && len(rep.Runs) == 2 && slices.Equal(names, []string{t.victim}),
		"%d nodes, %d used, %d runs, 1 node lost; the loop ends with: %s", len(t.Nodes), t.use, len(rep.Runs), rep.Stop)
	return out
}

// restarted reads what the ranks of the second run say of their restart.
func (t *selftest) restarted() (bool, string) {
	mended := ""
	for r := range t.use {
		b, err := os.ReadFile(reportName(t.Dir, 2, r))
		if err != nil {
			return false, fmt.Sprintf("rank %d: %s", r, fault.Text(err))
		}
		if text := string(b); !strings.HasPrefix(text, "restart") {
			return false, fmt.Sprintf("rank %d: %s", r, text)
		} else if strings.Contains(text, "copy") {
			mended = fmt.Sprintf("; rank %d: %s", r, text)
		}
	}
	return true, fmt.Sprintf("%d ranks at step %d%s", t.use, selftestStep, mended)
}

func reportName(dir string, run, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("report.%d.%d", run, rank))
}
