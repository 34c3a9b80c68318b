package scrtools

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/runloop"
)

func newScrPrerun(e *cli.Env) *cobra.Command {
	var a scrAlloc
	var asJSON bool
	var need []string
	cmd := &cobra.Command{
		Use:   "prerun [PREFIX]",
		Short: "Prepare an allocation: what scr run does before its first run",
		Long: `Prepare an allocation, for scripts that start the program themselves: create .scr in the
prefix directory, remove the flush and nodes files of an earlier allocation (the caches
are empty now), remove SCR_FINALIZE_CALLED from the halt file, look for the commands of
--need, and test the nodes.

Exit codes: 0 ready, 1 a node is down, 2 could not run, or a command is missing.

JSON: {"prefix", "did": [...], "nodes", "down": [{node, test, reason}], "skipped":
[{test, why}]}.`,
		Example: `  blobio scr prerun /p/sim && srun ./heat; blobio scr postrun /p/sim
  blobio scr prerun --need mpirun --nodes 'n[1-5]' /p/sim`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) > 0 {
				a.Prefix = args[0]
			}
			for _, name := range need {
				if _, err := exec.LookPath(name); err != nil {
					return fmt.Errorf("the command %s is missing: %w", name, err)
				}
			}
			if err := a.load(false); err != nil {
				return err
			}
			checker, err := a.Checker()
			if err != nil {
				return err
			}
			did, err := runloop.Prerun(ctx, a.Dir)
			if err != nil {
				return err
			}
			if a.NodeRoot != "" {
				if err := a.Local.Prepare(a.Source.Nodes); err != nil {
					return err
				}
			}
			down, skipped, err := checker.Check(ctx, a.Source.Nodes)
			if err != nil {
				return err
			}
			if len(down) > 0 {
				e.Code = cli.Findings
			}
			if asJSON {
				return e.PrintJSON(map[string]any{"prefix": a.Dir.Path, "did": did, "nodes": a.Source.Nodes,
					"down": append([]runloop.Down{}, down...), "skipped": append([]runloop.Skipped{}, skipped...)})
			}
			for _, s := range did {
				fmt.Fprintln(e.Out, s)
			}
			printTests(e, a.Source.Nodes, down, skipped)
			return nil
		},
	}
	a.flags(cmd)
	cmd.Flags().Lookup("prefix").Hidden = true
	cmd.Flags().StringArrayVar(&need, "need", nil, "`COMMAND` that must be there, as often as needed")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printTests says what node tests found.
func printTests(e *cli.Env, nodes []string, down []runloop.Down, skipped []runloop.Skipped) {
	for _, s := range skipped {
		fmt.Fprintf(e.Out, "node test left out: %s: %s\n", s.Test, s.Why)
	}
	bad := map[string]bool{}
	for _, d := range down {
		bad[d.Node] = true
		fmt.Fprintf(e.Out, "node down: %v\n", d)
	}
	fmt.Fprintf(e.Out, "%d of %d nodes are up", len(nodes)-len(bad), len(nodes))
	var up []string
	for _, n := range nodes {
		if !bad[n] {
			up = append(up, n)
		}
	}
	if len(up) > 0 {
		fmt.Fprintf(e.Out, ": %s", hostlist.Compress(up))
	}
	fmt.Fprintln(e.Out)
}
