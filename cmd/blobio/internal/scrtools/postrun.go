package scrtools

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/runloop"
)

type scrPostrunFlags struct {
	scrAlloc
	asJSON, noTests bool
}

func newScrPostrun(e *cli.Env) *cobra.Command {
	var f scrPostrunFlags
	cmd := &cobra.Command{
		Use:   "postrun [PREFIX]",
		Short: "Save checkpoints from the caches after the last run: what scr run does at its end",
		Long: `Save what is only in the caches of the nodes, after the last run of an allocation and
before the allocation ends. The nodes are tested. Those that are up copy output datasets,
then the newest checkpoint that can be saved, to the prefix directory. Files of lost nodes
are rebuilt, and the index records what the next allocation starts from.

If this host plays the nodes (--remote local), their caches are read from here; otherwise
"blobio scr scavenge" runs on each node.

Exit codes: 0 saved, or nothing to save; 1 something could not be saved; 2 could not run,
or no node is up.

JSON: {"nodes", "down": [{node, test, reason}], "datasets": [as of scr rebuild],
"current", "checkpoint", "failed": [{node, id, error}]}; failed has the nodes with copies
that failed.`,
		Example: `  blobio scr postrun /p/sim
  blobio scr postrun --nodes 'n[1-5]' --down n3 /p/sim
  blobio scr postrun --nodes 'n[1-5]' --node-root /tmp/nodes /p/sim`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.Prefix = args[0]
			}
			return f.run(cmd.Context(), e)
		},
	}
	f.flags(cmd)
	cmd.Flags().Lookup("prefix").Hidden = true
	cmd.Flags().BoolVar(&f.noTests, "no-tests", false, "test no node: use all but those of --down and --exclude")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *scrPostrunFlags) run(ctx context.Context, e *cli.Env) error {
	if f.noTests {
		f.Tests = "none"
	}
	if err := f.load(false); err != nil {
		return err
	}
	if f.Reach == nil {
		return cli.Usagef("--remote none: nothing can be saved from nodes that are not reached")
	}
	if on, err := f.Params.Flag("SCR_ENABLE"); err != nil {
		return err
	} else if !on {
		fmt.Fprintln(e.Stderr, "blobio: SCR_ENABLE is 0: nothing to do")
		return nil
	}
	checker, err := f.Checker()
	if err != nil {
		return err
	}
	down, skipped, err := checker.Check(ctx, f.Source.Nodes)
	if err != nil {
		return err
	}
	up := hostlist.Diff(f.Source.Nodes, checker.DownNodes())
	if len(up) == 0 && len(down) > 0 { // the reasons would be lost with the error
		more := ""
		if n := len(down) - 1; n > 0 {
			more = fmt.Sprintf("; and %d more", n)
		}
		return fmt.Errorf("no node is up: %v%s", down[0], more)
	}
	rep, err := f.Salvage(ctx, up)
	if err != nil {
		return err
	}
	all, failed := []scrRebuilt{}, []scrCopyFailed{}
	for _, t := range rep.Tried {
		r := rebuiltOf(e, t.ID, t.Result, t.Err)
		r.Name = cmp.Or(r.Name, t.Dataset.Name)
		all = append(all, r)
		for _, n := range up {
			if err := t.Nodes[n]; err != nil {
				failed = append(failed, scrCopyFailed{n, t.ID, elsewhere(salvageText(err))})
			}
		}
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"nodes": f.Source.Nodes, "down": append([]runloop.Down{}, down...),
			"datasets": all, "current": rep.Current, "checkpoint": rep.Safe, "failed": failed})
	}
	printTests(e, f.Source.Nodes, down, skipped)
	for _, x := range failed {
		fmt.Fprintf(e.Out, "%s: dataset %d: %s\n", x.Node, x.ID, x.Error)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.Out, "there is nothing to save")
	} else if err := printRebuilt(e, all, false); err != nil {
		return err
	}
	if rep.Current != "" {
		fmt.Fprintf(e.Out, "the next run starts from %s\n", rep.Current)
	}
	return nil
}

// scrCopyFailed is a node that could not copy its part of a dataset, as JSON has it.
type scrCopyFailed struct {
	Node  string `json:"node"`
	ID    int    `json:"id"`
	Error string `json:"error"`
}

// elsewhere names the verb that has the flag that a text of scr scavenge speaks of.
func elsewhere(text string) string {
	return strings.Replace(text, "see --was", "see scr scavenge --was", 1)
}
