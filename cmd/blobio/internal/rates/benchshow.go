package rates

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/bench"
	"blobio/internal/cli"
)

// printBench prints a table of the rows.
func printBench(e *cli.Env, r *bench.Results) {
	fmt.Fprintf(e.Out, "%s, %s, %s\n", r.Host, r.FileSystem, strings.Join(r.Workloads, ", "))
	if r.Quick {
		fmt.Fprintln(e.Out, "quick: the times are meaningless")
	}
	t := e.NewTable("", "DATA", "WHAT", "WHO", ">RANKS", ">SIZE", ">MEDIAN", ">MIN", ">MAX", ">RATE", ">OF RAW")
	for i := range r.Rows {
		t.Row(benchCells(&r.Rows[i])...)
	}
	if len(r.Rows) > 0 {
		t.Flush()
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(e.Out, "not measured: %s\n", s)
	}
}

func benchCells(r *bench.Row) []any {
	least, most := r.Range()
	share, size, mib, ranks := "", "", "", ""
	if s, ok := r.OfRaw(); ok {
		share = fmt.Sprintf("%.2f", s)
	}
	if r.Bytes > 0 {
		size, mib = cli.HumanBytes(r.Bytes), rate(r.Bytes, r.Median())
	}
	if r.Ranks > 0 {
		ranks = fmt.Sprint(r.Ranks)
	}
	return []any{r.Data, r.What, r.Who, ranks, size, bench.Seconds(r.Median()), bench.Seconds(least), bench.Seconds(most), mib, share}
}

func newBenchShow(e *cli.Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "show FILE...",
		Short: "Print the tables of result files",
		Long: `Print the tables of result files.

JSON: {"results": [...]}, with each result as printed by "bench run --json".`,
		Example: "  blobio bench show bench-results/*.json",
		Args:    cli.MinArgs(1, "a result file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := []*bench.Results{}
			for i, name := range args {
				r, err := bench.LoadResults(name)
				if err != nil {
					return err
				}
				if all = append(all, r); asJSON {
					continue
				}
				if i > 0 {
					fmt.Fprintln(e.Out)
				}
				printBench(e, r)
			}
			if asJSON {
				return e.PrintJSON(map[string]any{"results": all})
			}
			return nil
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}
