package scrtools

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
)

// scrNeed is something that a run needs.
type scrNeed struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Saw  string `json:"saw"`
}

func newScrSelftest(e *cli.Env) *cobra.Command {
	var f scrRunFlags
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Test that what scr run needs is there: commands and nodes",
		Long: `Test that the launcher and the command that reaches nodes are installed, and that all nodes
of the allocation pass the node tests. Nothing is started on the nodes but these tests.

Exit codes: 0 all is there, 1 something is missing or a node is down, 2 could not run.

JSON: {"steps": [{name, ok, saw}]}.`,
		Example: `  blobio scr selftest
  salloc -N 5 blobio scr selftest --launcher mpirun --remote ssh`,
		Args: cli.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			var steps []scrNeed
			need := func(what, name string) {
				at, err := exec.LookPath(name)
				if err != nil {
					at = name + " is missing"
				}
				steps = append(steps, scrNeed{what, err == nil, at})
			}
			if f.launcher != "local" {
				need("launcher", launcher.Name())
			}
			if f.Shell != nil {
				need("remote command", f.Shell.Name())
			}
			down, skipped, err := checker.Check(cmd.Context(), f.Source.Nodes)
			if err != nil {
				return err
			}
			for _, s := range skipped {
				steps = append(steps, scrNeed{"node test " + s.Test, false, s.Why})
			}
			for _, d := range down {
				steps = append(steps, scrNeed{"node " + d.Node, false, d.Test + ": " + d.Reason})
			}
			steps = append(steps, scrNeed{"nodes", len(down) == 0, fmt.Sprintf("%d of %d are up", len(f.Source.Nodes)-len(down), len(f.Source.Nodes))})
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
				if !s.OK {
					word = "FAIL"
				}
				fmt.Fprintf(e.Out, "%s  %s: %s\n", word, s.Name, s.Saw)
			}
			return nil
		},
	}
	f.scrAlloc.flags(cmd)
	f.launcherFlag(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}
