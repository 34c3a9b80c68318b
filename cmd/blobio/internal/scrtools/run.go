package scrtools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/diary"
	"blobio/internal/cli"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/runloop"
)

type scrRunFlags struct {
	scrAlloc
	launcher          string
	only              string
	launcherArgs      []string
	use, per          int
	runs, minNodes    int
	pause, grace      time.Duration
	watch, watchPFS   time.Duration
	heartbeat         []string
	noSalvage, dryRun bool
	transfer          bool
	asJSON            bool
}

func newScrRun(e *cli.Env) *cobra.Command {
	var f scrRunFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARG...]",
		Short: "Run a program in an allocation and restart it without failed nodes",
		Long: `Run a program on the nodes of an allocation. When a run fails, the nodes are tested, and failed
nodes are excluded for the rest of the allocation. Then the program is restarted on the same
number of nodes. Spare nodes replace lost nodes, so that the program can restart from its
caches. At the end, checkpoints that are only in caches are saved to the prefix directory.

The loop ends when the program exits with code 0, after the maximum number of runs (--runs),
when a halt condition holds (see "scr halt"), or when too few nodes are left. ctrl-C ends the
program, saves its checkpoints and ends the loop. A second ctrl-C ends the program at once and
saves nothing. --watchdog ends a run when the prefix directory does not change for the given
time.

With --transfer, a transfer process (see "scr transfer") runs on each node. It outlives the run
and ends with the loop, before checkpoints are saved. The program gets BLOBIO_TRANSFER=1, so its
session leaves background flushes (SCR_FLUSH_ASYNC=1) to these processes.

The launcher "local" starts processes on this host. With --node-root, each name in --nodes stands
for a node with a private directory below DIR. Processes read their rank and node from
BLOBIO_RANK, BLOBIO_SIZE, BLOBIO_NODE and BLOBIO_NODE_DIR.

Messages of the loop go to standard error; with --json, so does the standard output of the
program. --dry-run looks for the commands that start the program and reach nodes, tests the nodes
and prints the commands. It starts nothing, but creates the directories of --node-root.

--only carries out one part of the loop, for scripts that start the program themselves. "prerun"
prepares an allocation. It creates .scr in the prefix directory, removes the flush and nodes
files of an earlier allocation and SCR_FINALIZE_CALLED from the halt file, and tests the nodes.
"postrun" runs before the allocation ends. It saves datasets that are only in the caches: first
output datasets, then the newest checkpoint that can be saved. It rebuilds the files of lost
nodes, and the index records the dataset for the next allocation.

Exit codes: 0 the program ended well, 1 the program failed, or a checkpoint could not be saved,
2 could not run. For --dry-run and --only prerun, 1 means that nodes are down or commands are
missing.

JSON: {"stop", "why", "runs": [{run, nodes, exit: {code, failed: [{rank, node, what}]},
hung, down: [{node, test, reason}]}], "down": [...], "skipped": [{test, why}],
"salvage"}; with --dry-run {"nodes", "from", "launcher", "tests", "down", "use",
"needs", "command": [[...]], "missing", "runs", "prefix"}; for prerun {"prefix", "did":
[...], "nodes", "down", "skipped"}; for postrun {"nodes", "down", "datasets": [as for scr
rebuild], "current", "checkpoint", "failed": [{node, id, error}]}.`,
		Example: `  blobio scr run --runs 5 -- ./heat input.txt              # all nodes of the job
  blobio scr run --use 4 --runs 3 -- ./heat input.txt       # the other nodes are spare
  blobio scr run --launcher mpirun --per-node 32 -- ./heat
  blobio scr run --nodes 'n[1-5]' --node-root /tmp/nodes --use 4 -- ./heat   # 5 nodes on this host
  blobio scr run --watchdog 30m --watchdog-pfs 2h --runs 9 -- ./heat
  blobio scr run --transfer -s SCR_FLUSH_ASYNC=1 -- ./heat  # flush beside the program
  blobio scr run --dry-run --use 4 -- ./heat
  blobio scr run --only prerun && srun ./heat; blobio scr run --only postrun`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.only != "" {
				return cli.ExactArgs(0, "no program with --only")(cmd, args)
			}
			return cli.MinArgs(1, "a program to run, after --")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.only != "" {
				return f.part(cmd.Context(), e)
			}
			return f.run(cmd.Context(), e, args)
		},
	}
	f.scrAlloc.flags(cmd)
	fl := cmd.Flags()
	fl.SetInterspersed(false) // flags after the program belong to the program
	fl.StringVarP(&f.launcher, "launcher", "l", "", "local, mpirun (Open MPI), mpiexec (MPICH), or srun (default: srun in a job of Slurm, else local)")
	fl.StringArrayVar(&f.launcherArgs, "launcher-arg", nil, "argument for mpirun, mpiexec or srun (repeatable)")
	fl.IntVarP(&f.use, "use", "u", 0, "number of nodes of a run; the others are spares (default: --min-nodes)")
	fl.IntVarP(&f.per, "per-node", "p", 1, "number of processes on each node")
	fl.IntVarP(&f.runs, "runs", "r", 0, "maximum number of runs in this allocation (SCR_RUNS)")
	fl.IntVar(&f.minNodes, "min-nodes", 0, "minimum number of nodes of a run (SCR_MIN_NODES; default: nodes of the last run, else all)")
	fl.DurationVar(&f.pause, "pause", time.Minute, "time between two runs in which the nodes clean up")
	fl.DurationVar(&f.grace, "grace", 10*time.Second, "time between the request to end a run and its kill")
	fl.DurationVar(&f.watch, "watchdog", 0, "end a run after this time without a sign of life (SCR_WATCHDOG_TIMEOUT; 0: never)")
	fl.DurationVar(&f.watchPFS, "watchdog-pfs", 0, "watchdog time while a dataset is written to the prefix directory (SCR_WATCHDOG_TIMEOUT_PFS)")
	fl.StringArrayVar(&f.heartbeat, "heartbeat", nil, "`FILE` whose changes also count as signs of life")
	fl.BoolVar(&f.transfer, "transfer", false, "start a transfer process on each node, which flushes in the background (SCR_FLUSH_ASYNC) and outlives a run")
	fl.BoolVar(&f.noSalvage, "no-salvage", false, "at the end, do not save datasets that exist only in caches")
	cli.ChoiceFlag(cmd, &f.only, "only", "", "carry out only one part of the loop, without a program", onlyPrerun, onlyPostrun)
	fl.BoolVarP(&f.dryRun, "dry-run", "n", false, "print the commands, start nothing")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

// loadLauncher chooses the launcher and loads the allocation.
func (f *scrRunFlags) loadLauncher() error {
	if f.launcher == "" {
		f.launcher = "local"
		if runloop.InSlurm() && f.NodeRoot == "" {
			f.launcher = "srun"
		}
	}
	return f.load(f.launcher == "local")
}

// pick makes the launcher.
func (f *scrRunFlags) pick() (runloop.Launcher, error) {
	c := &runloop.Command{Extra: f.launcherArgs}
	switch f.launcher {
	case "local":
		if len(f.launcherArgs) > 0 {
			return nil, cli.Usagef("--launcher-arg is for mpirun, mpiexec and srun")
		}
		return f.Local, nil
	case "mpirun":
		c.Style = runloop.OpenMPI
	case "mpiexec":
		c.Style = runloop.MPICH
	case "srun":
		c.Style = runloop.Slurm
	default:
		return nil, cli.Usagef("--launcher %q, want local, mpirun, mpiexec or srun", f.launcher)
	}
	return c, nil
}

func (f *scrRunFlags) run(ctx context.Context, e *cli.Env, args []string) error {
	switch {
	case f.use < 0 || f.per < 1 || f.runs < 0 || f.minNodes < 0:
		return cli.Usagef("--use, --runs and --min-nodes must not be negative, --per-node must be at least 1")
	case f.pause < 0 || f.grace < 0 || f.watch < 0 || f.watchPFS < 0:
		return cli.Usagef("times must not be negative")
	case f.watchPFS > 0 && f.watch == 0:
		return cli.Usagef("--watchdog-pfs needs --watchdog")
	}
	if err := f.loadLauncher(); err != nil {
		return err
	}
	launcher, err := f.pick()
	if err != nil {
		return err
	}
	checker, err := f.Checker()
	if err != nil {
		return err
	}
	o := runloop.Options{Launcher: launcher, Nodes: f.Source.Nodes, Dir: f.Dir, Checker: checker, Grace: max(f.grace, 1)}
	if err := o.FromParams(f.Params); err != nil {
		return err
	}
	if f.launcher != "local" {
		o.Own = f.Own()
	}
	if f.runs > 0 {
		o.Runs = f.runs
	}
	if f.minNodes > 0 {
		o.MinNodes = f.minNodes
	}
	o.Use = f.use
	o.Pause = f.pause
	if f.pause == 0 {
		o.Pause = -1
	}
	if f.watch > 0 {
		o.Watchdog = &runloop.Watchdog{Timeout: f.watch, TimeoutPFS: f.watchPFS}
	}
	if o.Watchdog != nil {
		o.Watchdog.Beat = runloop.FileBeat(f.Dir, f.heartbeat...)
	}
	e.Stderr = runloop.OneWriter(e.Stderr) // the loop and the program both write to stderr
	for _, n := range f.Params.Notes() {
		fmt.Fprintf(e.Stderr, "scr run: note: %s\n", clean(n.String()))
	}
	o.Launch = runloop.Launch{Args: args, PerNode: f.per, Stdout: e.Stdout, Stderr: e.Stderr, Env: launchEnv(f.Set)}
	if f.asJSON {
		o.Launch.Stdout = e.Stderr
	}
	if err := checkUse(&o); err != nil {
		return err
	}
	if f.NodeRoot != "" {
		if err := f.Local.Prepare(o.Nodes); err != nil {
			return err
		}
	}
	if f.dryRun {
		return f.plan(ctx, e, &o)
	}
	// The loop and its watchdog go on without a reader of their messages.
	cli.OutliveReaders()
	said := diary.New(e.Stderr, func() string { return "scr run: " })
	defer said.Flush()
	say := func(msg string) { fmt.Fprintln(said, msg) }
	if f.transfer {
		if f.Reach == nil {
			return cli.Usagef("--transfer needs access to the nodes (--remote)")
		}
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		if o.Transfers, err = runloop.TransfersOf(f.Params, f.Local, f.Shell, exe); err != nil {
			return err
		}
		o.Transfers.Stderr, o.Transfers.Say, o.Transfers.Grace = e.Stderr, say, f.grace
	}
	o.Say = say
	return f.loop(ctx, e, o)
}

// launchEnv returns the environment of the program, including --set.
func launchEnv(set []string) []string { return runloop.LastEnv(append(os.Environ(), set...)) }

// checkUse returns errors that the loop would return, in terms of the command line.
func checkUse(o *runloop.Options) error {
	switch n := len(o.Nodes); {
	case o.Use > n:
		return fmt.Errorf("--use %d is more than the allocation has (%d nodes): %s", o.Use, n, hostlist.Compress(o.Nodes))
	case o.MinNodes > n:
		return fmt.Errorf("a run needs %d nodes, but the allocation has %d: %s", o.MinNodes, n, hostlist.Compress(o.Nodes))
	}
	return nil
}

// loop runs the program repeatedly.
func (f *scrRunFlags) loop(ctx context.Context, e *cli.Env, o runloop.Options) error {
	log, err := f.Log()
	if err != nil {
		return err
	}
	defer log.Close()
	o.Log = log
	if !f.noSalvage {
		o.Salvage = func(ctx context.Context, up []string) error {
			rep, err := f.Salvage(ctx, up)
			if err != nil {
				return err
			}
			o.Say(strings.Join(savedOf(e, rep, up).lines(), "; "))
			return nil
		}
	}
	hurry, stop := secondSignal()
	defer stop()
	o.Hurry = hurry
	e.Out.Flush() // the program writes to the same output
	rep, err := runloop.Run(ctx, o)
	if err != nil {
		return err
	}
	if rep.Err != nil && len(rep.Runs) == 0 {
		return launchFailed(o.Launcher, rep)
	}
	if rep.Stop != runloop.Done || rep.Salvage != "done" && o.Salvage != nil && len(rep.Runs) > 0 && !o.Plain {
		e.Code = cli.Findings
	}
	if f.asJSON {
		return e.PrintJSON(rep)
	}
	return nil
}

// launchFailed returns the reason why the first run could not start.
func launchFailed(l runloop.Launcher, rep *runloop.Report) error {
	if errors.Is(rep.Err, exec.ErrNotFound) || errors.Is(rep.Err, fs.ErrNotExist) {
		what := "is " + l.Name() + " loaded, and does the program exist?"
		if l.Name() == "local" {
			what = "does the program exist?"
		}
		return cli.WithHint(rep.Err, what)
	}
	return rep.Err
}

// secondSignal returns a channel that a signal closes after another signal has ended the context of the verb. By then main no longer handles signals,
// so the second signal would end this process and leave the program running.
func secondSignal() (<-chan struct{}, func()) {
	sig := make(chan os.Signal, 4)
	hurry, quit, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			case <-sig:
				if n == 1 { // the first signal has ended the context
					close(hurry)
				}
			}
		}
	}()
	return hurry, func() { signal.Stop(sig); close(quit); <-done }
}

// scrPlan is the output of a dry run.
type scrPlan struct {
	Nodes    []string          `json:"nodes"`
	From     string            `json:"from"`
	Prefix   string            `json:"prefix"`
	Launcher string            `json:"launcher"`
	Tests    []string          `json:"tests"`
	Skipped  []runloop.Skipped `json:"skipped"`
	Down     []runloop.Down    `json:"down"`
	Needs    int               `json:"needs"`
	Use      []string          `json:"use"` // nil: too few nodes are up
	Spare    []string          `json:"spare"`
	Runs     int               `json:"runs"`
	Command  [][]string        `json:"command"`
	Missing  []string          `json:"missing"`
}

// plan tests the nodes and prints what would be started.
func (f *scrRunFlags) plan(ctx context.Context, e *cli.Env, o *runloop.Options) error {
	p := scrPlan{Nodes: o.Nodes, From: f.Source.From, Prefix: f.Dir.Path, Launcher: o.Launcher.Name(), Tests: testNames(o.Checker), Runs: o.Runs,
		Skipped: []runloop.Skipped{}, Down: []runloop.Down{}, Use: []string{}, Spare: []string{}, Command: [][]string{}, Missing: f.missing(o.Launcher)}
	down, skipped, err := o.Checker.Check(ctx, o.Nodes)
	if err != nil {
		return err
	}
	p.Down, p.Skipped = append(p.Down, down...), append(p.Skipped, skipped...)
	up := hostlist.Diff(o.Nodes, o.Checker.DownNodes())
	p.Needs = o.MinNodes
	if p.Needs == 0 { // ignore the nodes file of an earlier allocation, which a run would remove
		p.Needs = len(o.Nodes)
		if o.Use > 0 {
			p.Needs = o.Use
		}
	}
	if len(up) < p.Needs || len(p.Missing) > 0 {
		e.Code = cli.Findings
	}
	if len(up) >= p.Needs {
		p.Use = runloop.Place(nil, up, min(max(p.Needs, o.Use), len(up)), o.Own)
		p.Spare = append(p.Spare, hostlist.Diff(up, p.Use)...)
		la := o.Launch
		la.Run, la.Nodes, la.Down = 1, p.Use, o.Checker.DownNodes()
		p.Command = o.Launcher.Plan(la)
	}
	if f.asJSON {
		return e.PrintJSON(p)
	}
	fmt.Fprintf(e.Out, "prefix directory  %s\n", p.Prefix)
	fmt.Fprintf(e.Out, "nodes             %s (%d, from %s)\n", hostlist.Compress(p.Nodes), len(p.Nodes), p.From)
	fmt.Fprintf(e.Out, "node tests        %s\n", strings.Join(p.Tests, ", "))
	for _, name := range p.Missing {
		fmt.Fprintf(e.Out, "missing command   %s\n", name)
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(e.Out, "  skipped         %s: %s\n", s.Test, s.Why)
	}
	for _, d := range p.Down {
		fmt.Fprintf(e.Out, "  down            %v\n", d)
	}
	fmt.Fprintf(e.Out, "runs              at most %d, %v between two\n", p.Runs, f.pause)
	if len(p.Use) == 0 {
		fmt.Fprintf(e.Out, "too few nodes     %d are up, a run needs %d\n", len(up), p.Needs)
		return nil
	}
	fmt.Fprintf(e.Out, "used              %s\n", hostlist.Compress(p.Use))
	if len(p.Spare) > 0 {
		fmt.Fprintf(e.Out, "spare             %s\n", hostlist.Compress(p.Spare))
	}
	for i, argv := range p.Command {
		if i == 8 && len(p.Command) > 9 {
			fmt.Fprintf(e.Out, "                  ... and %d more\n", len(p.Command)-i)
			break
		}
		fmt.Fprintf(e.Out, "%-18s%s\n", []string{"starts", ""}[min(i, 1)], strings.Join(argv, " "))
	}
	return nil
}
