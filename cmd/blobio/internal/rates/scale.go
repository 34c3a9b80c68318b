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
		Short: "Work out, by a model, what a write costs beyond one machine",
		Long: `Model the cost of a write on larger machines: counts of a small run are extrapolated, and
nodes and the servers of a parallel file system are simulated. The simulation is fitted to
the published rates of E3SM-IO on Cori; its prediction for Summit is shown beside the
published rates there, as its error. None of its figures is a measurement of blobio.
bench/results/scale.md lists the assumptions.

JSON: {params, fit: [{system, case, layout, nodes, bytes, published, model}], other, counts, rows, files, aggregators};
rates in GiB/s, times in seconds.`,
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
	fmt.Fprintln(e.Out, "Published rates of E3SM-IO (GiB/s), and those of the model. Fitted on Cori only.")
	t := e.NewTable("  ", "MACHINE", "CASE", ">NODES", ">SIZE", "LAYOUT", ">PUBLISHED", ">MODEL", ">ERROR")
	for _, list := range [][]bench.ScalePoint{s.Fit, s.Other} {
		for i := range list {
			p := &list[i]
			t.Row(p.System, p.Case, fmt.Sprint(p.Nodes), cli.HumanBytes(p.Bytes), p.Layout, fmt.Sprintf("%.1f", p.Published),
				fmt.Sprintf("%.1f", p.Model), fmt.Sprintf("%+.0f %%", 100*p.Error()))
		}
	}
	t.Flush()
	q := s.Params
	fmt.Fprintf(e.Out, "  fitted: open and close %s, variable-centric %s more; a node brings %.2f GiB/s; a put of all ranks of a node %s (variable-centric), %s (process-centric)\n",
		bench.Seconds(q.Open), bench.Seconds(q.Rounds), q.NodeRate, bench.Seconds(q.PieceVC), bench.Seconds(q.PiecePC))

	for _, l := range []string{"variable-centric", "process-centric"} {
		n := s.Counts[l]
		fmt.Fprintf(e.Out, "\n%s: one write of F h0, a subfile to each node of %d ranks.\nCounted with %d ranks on nodes of %d: %d collectives of all ranks, %d of a subfile's.\n",
			l, bench.ScalePerNode, n.Ranks, n.RanksPerNode, n.World, n.Subfile)
		t := e.NewTable("  ", ">RANKS", ">SUBFILES", ">MESSAGES OF A RANK", ">BYTES OF A RANK", ">TABLE IN A RANK", ">DATA OF A SUBFILE", ">WRITES", ">FILE OPERATIONS", ">MANIFEST", ">OPERATIONS ON NAMES")
		for _, r := range s.Rows[l] {
			t.Row(fmt.Sprint(r.Ranks), fmt.Sprint(r.Subfiles), fmt.Sprintf("%.0f", r.Messages), cli.HumanBytes(int64(r.Sent)), cli.HumanBytes(r.Table), cli.HumanBytes(r.DataBytes),
				fmt.Sprint(r.Writes), fmt.Sprint(r.FileOps), cli.HumanBytes(r.Manifest), fmt.Sprint(r.WorldOps))
		}
		t.Flush()
	}

	fmt.Fprintf(e.Out, "\nFiles, stripes and locks: the simulation with 248 servers, process-centric, 1 aggregator on a node.\n")
	t = e.NewTable("  ", ">RANKS", "BYTES OF A RANK AS", "SUBFILES", ">NUMBER", ">SERVERS OF A FILE", ">TIME", ">MODEL GiB/s")
	for _, x := range s.Files {
		t.Row(fmt.Sprint(x.Ranks), x.Case, x.Files, fmt.Sprint(x.Subfiles), fmt.Sprint(x.Stripes), bench.Seconds(x.Seconds), fmt.Sprintf("%.1f", x.Rate))
	}
	t.Flush()
	fmt.Fprintf(e.Out, "\nAggregators on a node, a subfile to a node.\n")
	t = e.NewTable("  ", "CASE", ">RANKS", ">AGGREGATORS", ">TIME", ">MODEL GiB/s")
	for _, x := range s.Aggs {
		t.Row(x.Case, fmt.Sprint(x.Ranks), fmt.Sprint(x.Aggregators), bench.Seconds(x.Seconds), fmt.Sprintf("%.1f", x.Rate))
	}
	t.Flush()
	return nil
}
