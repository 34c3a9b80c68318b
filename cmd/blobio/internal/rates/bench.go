package rates

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/bench"
	"blobio/internal/cli"
)

func NewBench(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of writing, reading and converting",
		Long: `Run repeatable benchmarks of blobio. A workload is a named set of benchmarks. Each row is
the median of at least five runs, with minimum and maximum. Runs of compared rows alternate.
Each row is compared with plain writes or reads of the same bytes in the same run. Ranks are
goroutines of one process; "bench sweep" also runs under mpirun.`,
		Example: `  blobio bench run --list
  blobio bench run ne30 read convert --dir /dev/shm
  blobio bench run shared --dir /mnt/scratch --runs 7 -o results
  blobio bench sweep --ranks 4,16 --subfiles 1,4 --repeats 3 -o sweep`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newBenchRun(e), cli.AsTogether(newBenchSweep(e)), newBenchShow(e))
	return cmd
}

type benchFlags struct {
	dir, out            string
	runs                int
	list, quick, asJSON bool
}

func newBenchRun(e *cli.Env) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "run [WORKLOAD...]",
		Short: "Run workloads (default: all)",
		Long: `Run the named workloads, or all of them. For each workload, print a table and save the results
as a JSON file in the directory --output. Temporary files go to a new directory below --dir
and are removed at the end, even after an interrupt.

--json prints the saved results instead of the table, one value for each workload. For --list,
JSON is {workloads: [{name, about}]}.`,
		Example: `  blobio bench run --quick                                # short test
  blobio bench run ne30 read convert --dir /dev/shm
  blobio bench run shared --dir /mnt/scratch --runs 7 -o results`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return listWorkloads(e, f.asJSON)
			}
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dir, "dir", "", "directory on the file system to measure (default: directory of temporary files)")
	fl.BoolVar(&f.list, "list", false, "list the workloads, do not run them")
	fl.IntVar(&f.runs, "runs", 5, "number of measurements for each table row")
	fl.BoolVar(&f.quick, "quick", false, "short test with the smallest sizes and two runs; the times are meaningless")
	fl.StringVarP(&f.out, "output", "o", "", "directory for result files (default: bench-results; none with --quick)")
	cli.JSONFlag(cmd, &f.asJSON, bench.Results{})
	return cmd
}

func listWorkloads(e *cli.Env, asJSON bool) error {
	type workload struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var list []workload
	t := e.NewTable("", "WORKLOAD", "WHAT")
	for _, w := range bench.Workloads() {
		list = append(list, workload{w.Name, w.About})
		t.Row(w.Name, w.About)
	}
	if asJSON {
		return e.PrintJSON(map[string]any{"workloads": list})
	}
	t.Flush()
	return nil
}

func (f *benchFlags) run(ctx context.Context, e *cli.Env, names []string) (err error) {
	names, o, err := f.options(e, names)
	if err != nil {
		return err
	}
	bar := e.NewCount()
	defer bar.End()
	o.At = bar.At
	for i, n := range names {
		res, err := bench.Run(ctx, o, n)
		bar.Clear()
		if i > 0 && !f.asJSON && res != nil && len(res.Rows) > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := tell(ctx, e, res, err, f.asJSON, f.out); err != nil {
			return err
		}
	}
	return nil
}

func (f *benchFlags) options(e *cli.Env, names []string) (list []string, o bench.Options, err error) {
	switch {
	case f.runs < 1:
		return nil, o, cli.Usagef("--runs %d, want a positive number", f.runs)
	case e.Procs != nil:
		return nil, o, cli.Usagef("bench run uses ranks in one process and cannot run under mpirun")
	}
	var all []string
	for _, w := range bench.Workloads() {
		all = append(all, w.Name)
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, o, cli.Usagef("unknown workload %q, want names from %s", n, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		names = all
	}
	if f.out == "" && !f.quick {
		f.out = "bench-results"
	}
	o = bench.Options{Dir: cmp.Or(f.dir, os.TempDir()), Runs: f.runs, Quick: f.quick}
	if f.out != "" {
		err = bench.CanSave(f.out)
	}
	return names, o, err
}

// tell prints results, and stores them in dir unless it is "". It returns err, the error of the run. Incomplete results are
// printed but not stored.
func tell(ctx context.Context, e *cli.Env, res *bench.Results, err error, asJSON bool, dir string) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if res == nil || err != nil && len(res.Rows) == 0 {
		return err
	}
	defer e.Out.Flush()
	if asJSON {
		if err := e.PrintJSON(res); err != nil {
			return err
		}
	} else {
		printBench(e, res)
	}
	if err != nil {
		if !asJSON {
			fmt.Fprintln(e.Out, "\ninterrupted; these rows are not saved")
		}
		return err
	}
	if dir == "" || len(res.Rows) == 0 {
		return nil
	}
	name, err := res.Save(dir)
	if err == nil && !asJSON {
		fmt.Fprintf(e.Out, "results are in %s\n", name)
	}
	return err
}
