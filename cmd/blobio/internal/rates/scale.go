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
		Short: "Count what each rank does in a write of any size",
		Long: `Count collectives, messages, file operations and metadata of a write in a small run, and
print what the counts mean for up to a million ranks: they hold for any number. No time is
measured or guessed; "bench sweep" measures.

JSON: {counts, rows}, each by layout.`,
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
	for i, l := range []string{"variable-centric", "process-centric"} {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		n := s.Counts[l]
		fmt.Fprintf(e.Out, "%s: one write of F h0, a subfile to each node of %d ranks.\nCounted with %d ranks on nodes of %d: %d collectives of all ranks, %d of a subfile's.\nA further flush of the same puts adds %d and %d, with %d bytes of a rank. Reading takes %d to open, none afterwards.\n",
			l, bench.ScalePerNode, n.Ranks, n.RanksPerNode, n.World, n.Subfile, n.NextWorld, n.NextSubfile, n.NextSent, n.OpenWorld)
		t := e.NewTable("  ", ">RANKS", ">SUBFILES", ">MESSAGES OF A RANK", ">BYTES OF A RANK", ">TABLE IN A RANK", ">DATA OF A SUBFILE", ">WRITES", ">FILE OPERATIONS", ">MANIFEST", ">OPERATIONS ON NAMES")
		for _, r := range s.Rows[l] {
			t.Row(fmt.Sprint(r.Ranks), fmt.Sprint(r.Subfiles), fmt.Sprintf("%.0f", r.Messages), cli.HumanBytes(int64(r.Sent)), cli.HumanBytes(r.Table), cli.HumanBytes(r.DataBytes),
				fmt.Sprint(r.Writes), fmt.Sprint(r.FileOps), cli.HumanBytes(r.Manifest), fmt.Sprint(r.WorldOps))
		}
		t.Flush()
	}
	return nil
}
