package rates

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/internal/bench"
	"blobio/internal/cli"
)

func newBenchScale(e *cli.Env) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Say what is known of the cost of a write beyond one machine",
		Long: `Say what is known of a write on larger machines. Collectives, messages, file operations and
metadata are counted in a small run; counts hold for any number of ranks. A model of time is fitted to the published rates
of E3SM-IO on one machine, and tried on the other with what two runs there tell; the
errors of the runs that it does not know give the interval of its rates. None of its
figures is a measurement of blobio. bench/results/scale.md says what it cannot tell.

JSON: {tests: [{from, params, own, to, other, points: [{system, case, layout, nodes, bytes,
published, model, fitted}]}], interval, points, counts, rows, files}; rates in GiB/s, times in
seconds.`,
		Example: `  blobio bench scale
  blobio bench scale --json`,
		Args: cli.ExactArgs(0, "no arguments, only options"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.Procs != nil {
				return cli.Usagef("bench scale is not run by mpirun")
			}
			if dir == "" {
				dir = os.TempDir()
			}
			return benchScale(e, cmd.Context(), dir, asJSON)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory for a small dataset (default: that of temporary files)")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func benchScale(e *cli.Env, ctx context.Context, dir string, asJSON bool) error {
	s, err := bench.NewScale(ctx, dir)
	if err != nil {
		return err
	}
	if asJSON {
		return e.PrintJSON(s)
	}
	fmt.Fprintln(e.Out, "Published rates of E3SM-IO (GiB/s), and those of the model.")
	for i := range s.Tests {
		x := &s.Tests[i]
		fmt.Fprintf(e.Out, "\nFitted on %s, and tried on %s with what two of its runs tell.\n", x.From, x.To)
		t := e.NewTable("  ", "MACHINE", "CASE", ">NODES", ">SIZE", "LAYOUT", ">PUBLISHED", ">MODEL", ">ERROR", "")
		for _, list := range [][]bench.ScalePoint{x.Own, x.Points} {
			for i := range list {
				p := &list[i]
				t.Row(p.System, p.Case, fmt.Sprint(p.Nodes), cli.HumanBytes(p.Bytes), p.Layout, fmt.Sprintf("%.1f", p.Published),
					fmt.Sprintf("%.1f", p.Model), fmt.Sprintf("%+.0f %%", 100*p.Error()), map[bool]string{true: "fitted", false: "not known to it"}[p.Fitted])
			}
		}
		t.Flush()
		least, most := x.Worst()
		fmt.Fprintf(e.Out, "  of the program: a put of all ranks of a node %s (variable-centric), %s (process-centric); variable-centric %s more\n", bench.Seconds(x.Params.PieceVC), bench.Seconds(x.Params.PiecePC), bench.Seconds(x.Params.Rounds))
		fmt.Fprintf(e.Out, "  of the machines: %s for each node on %s, %s on %s; a node brings %.2f GiB/s, and %.2f\n", bench.Seconds(x.Params.Grow), x.From, bench.Seconds(x.Other.Grow), x.To, x.Params.NodeRate, x.Other.NodeRate)
		fmt.Fprintf(e.Out, "  error of what it does not know: %+.0f %% to %+.0f %%\n", 100*least, 100*most)
	}
	fmt.Fprintf(e.Out, "\nBy these %d points a rate is within a factor of %.1f of the model's, 19 of 20 times.\n", s.Points, s.Interval)

	for _, l := range []string{"variable-centric", "process-centric"} {
		n := s.Counts[l]
		fmt.Fprintf(e.Out, "\n%s: one write of F h0, a subfile to each node of %d ranks.\nCounted with %d ranks on nodes of %d: %d collectives of all ranks, %d of a subfile's.\nA further flush of the same puts adds %d and %d, with %d bytes of a rank. Reading takes %d to open, none afterwards.\n",
			l, bench.ScalePerNode, n.Ranks, n.RanksPerNode, n.World, n.Subfile, n.NextWorld, n.NextSubfile, n.NextSent, n.OpenWorld)
		t := e.NewTable("  ", ">RANKS", ">SUBFILES", ">MESSAGES OF A RANK", ">BYTES OF A RANK", ">TABLE IN A RANK", ">DATA OF A SUBFILE", ">WRITES", ">FILE OPERATIONS", ">MANIFEST", ">OPERATIONS ON NAMES")
		for _, r := range s.Rows[l] {
			t.Row(fmt.Sprint(r.Ranks), fmt.Sprint(r.Subfiles), fmt.Sprintf("%.0f", r.Messages), cli.HumanBytes(int64(r.Sent)), cli.HumanBytes(r.Table), cli.HumanBytes(r.DataBytes),
				fmt.Sprint(r.Writes), fmt.Sprint(r.FileOps), cli.HumanBytes(r.Manifest), fmt.Sprint(r.WorldOps))
		}
		t.Flush()
	}

	fmt.Fprintf(e.Out, "\nNumbers of files on Cori, process-centric: the model's GiB/s if what grows with nodes is a cost of files, or of nodes and their ranks.\n")
	t := e.NewTable("  ", ">RANKS", "BYTES OF A RANK AS", "SUBFILES", ">NUMBER", ">SERVERS OF A FILE", ">IF OF FILES", ">IF OF NODES", "")
	for _, x := range s.Files {
		t.Row(fmt.Sprint(x.Ranks), x.Case, x.Files, fmt.Sprint(x.Subfiles), fmt.Sprint(x.Stripes), fmt.Sprintf("%.1f", x.IfFiles), fmt.Sprintf("%.1f", x.IfNodes), map[bool]string{true: "beyond any published run"}[x.Beyond])
	}
	t.Flush()
	return nil
}
