package scrtools

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/runloop"
)

func newScrSelftest(e *cli.Env) *cobra.Command {
	var f scrRunFlags
	var limit time.Duration
	var rank, verbose bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Test whether a new system allows restarts in place",
		Long: `Test whether a system allows restarts in place, like SCR's checklist for new systems. In
an allocation of five nodes a small program starts on four, saves a checkpoint on its
nodes, each with a copy on the next node, and continues. One node is lost. The job must
survive, the launcher must return, and no process may be left. The node tests must find
that node and no other. The next launch must avoid it and take the spare. A second run
must work in the broken allocation, and must restart from the checkpoint.

By default five directories of this host play the nodes, and a node is lost by killing its
processes and removing its directory; this tests blobio's part. On a real system, name the
launcher and the nodes; somebody must then switch off the node named on standard error.
--work must be a directory that all nodes see.

Exit codes: 0 all steps passed, 1 a step failed, 2 could not run.

JSON: {"steps": [{name, ok, saw, reached}]}.`,
		Example: `  blobio scr selftest
  salloc -N 5 --no-kill blobio scr selftest --launcher srun --work $HOME/selftest
  blobio scr selftest --launcher mpirun --nodes 'n[1-5]' --remote ssh --work /p/selftest --limit 30m`,
		Args: cli.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rank {
				signal.Reset(os.Interrupt, syscall.SIGTERM) // ended is ended: there is nothing to tidy up
				return runloop.SelftestRank(cmd.Context())
			}
			steps, err := f.selftest(cmd.Context(), e, limit, verbose)
			if err != nil {
				return err
			}
			for _, s := range steps {
				if !s.OK {
					e.Code = cli.Findings
				}
			}
			if f.asJSON {
				return e.PrintJSON(map[string]any{"steps": steps})
			}
			for _, s := range steps {
				word := "ok  "
				if !s.Reached {
					word = "-   "
				} else if !s.OK {
					word = "FAIL"
				}
				fmt.Fprintf(e.Out, "%s  %s\n      %s\n", word, s.Name, s.Saw)
			}
			return nil
		},
	}
	f.scrAlloc.flags(cmd)
	fl := cmd.Flags()
	fl.Lookup("prefix").Usage = "not used; see --work"
	fl.Lookup("prefix").Hidden = true
	fl.StringVarP(&f.launcher, "launcher", "l", "local", "local, mpirun (Open MPI), mpiexec (MPICH), or srun")
	fl.StringArrayVar(&f.launcherArgs, "launcher-arg", nil, "argument for mpirun, mpiexec or srun, as often as needed")
	fl.StringVar(&f.Prefix, "work", "", "`DIR` that all nodes see, for files of the test (default: a temporary one)")
	fl.DurationVar(&limit, "limit", 0, "time for each step (default: 2m, or 15m if somebody has to switch off a node)")
	fl.BoolVar(&verbose, "verbose", false, "report on standard error what the loop does")
	fl.BoolVar(&rank, "rank", false, "be a process of the test")
	fl.Lookup("rank").Hidden = true
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *scrRunFlags) selftest(ctx context.Context, e *cli.Env, limit time.Duration, verbose bool) (_ []runloop.Checked, err error) {
	if limit < 0 {
		return nil, cli.Usagef("--limit must not be negative")
	}
	work, err := os.MkdirTemp(f.Prefix, "blobio-selftest-*") // of its own, so that it can be removed
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := os.RemoveAll(work); err == nil && rerr != nil {
			err = rerr
		}
	}()
	if work, err = filepath.Abs(work); err != nil {
		return nil, err
	}
	f.Prefix = work
	local := f.launcher == "local"
	if local {
		if f.Nodes == "" {
			f.Nodes = "node[1-5]"
		}
		if f.NodeRoot == "" {
			f.NodeRoot = filepath.Join(work, "nodes")
		}
	}
	if err := f.load(local); err != nil {
		return nil, err
	}
	launcher, err := f.pick()
	if err != nil {
		return nil, err
	}
	if n := len(f.Source.Nodes); n < 3 {
		return nil, cli.Usagef("a selftest needs 3 nodes (better 5), and has %d (%s)", n, f.Source.From)
	}
	checker, err := f.Checker()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := runloop.SelftestOptions{Launcher: launcher, Nodes: f.Source.Nodes, Checker: checker, Program: []string{exe, "scr", "selftest", "--rank"},
		Env: launchEnv(f.Set), Dir: filepath.Join(work, "shared"), Limit: limit}
	if err := os.Mkdir(o.Dir, 0o777); err != nil {
		return nil, err
	}
	if verbose || !local {
		o.Say = scrSay(e)
	}
	if local {
		if err := f.Local.Prepare(o.Nodes); err != nil {
			return nil, err
		}
		o.Kill = func(_ context.Context, node string) error { return f.Local.LoseNode(node) }
	} else {
		o.Own, o.Pause = f.Own(), time.Minute
	}
	return runloop.Selftest(ctx, o)
}
