package scrtools

import (
	"fmt"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
)

func newScrNodes(e *cli.Env) *cobra.Command {
	var number int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nodes [PREFIX]",
		Short: "Print the number of nodes of the last run, or set it",
		Long: `Print the number of nodes of the last run, or set it. The library writes it at its start
(.scr/nodes.scr), and "scr run" takes as many for the next run unless it is told
otherwise; the other nodes of the allocation are spares.

Exit codes: 0 good, 1 not known, 2 could not run.

JSON: {"prefix", "nodes"}; null if it is not known.`,
		Example: `  blobio scr nodes /p/sim
  blobio scr nodes --number 4 /p/sim     # the next run is to have four
  N=$(blobio scr nodes /p/sim) || N=$ALL`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := cmd.Flags().Changed("number")
			if changed && number < 1 {
				return cli.Usagef("--number %d, want at least 1", number)
			}
			d, err := scrPrefix(args)
			if err != nil {
				return err
			}
			if changed {
				if err := d.Create(); err != nil {
					return err
				}
				if err := d.WriteNodes(number); err != nil {
					return err
				}
			}
			n, ok, err := d.ReadNodes()
			if err != nil {
				return cli.WithHint(err, "scr nodes --number rewrites it")
			}
			if !ok {
				e.Code = cli.Findings
			}
			switch {
			case asJSON && ok:
				return e.PrintJSON(map[string]any{"prefix": d.Path, "nodes": n})
			case asJSON:
				return e.PrintJSON(map[string]any{"prefix": d.Path, "nodes": nil})
			case ok:
				fmt.Fprintln(e.Out, n)
			default:
				fmt.Fprintf(e.Stderr, "blobio: %s: not known: no run wrote it since the allocation began\n", d.Path)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&number, "number", 0, "set it to `N`")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}
