package rates

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/bench"
	"blobio/internal/cli"
)

type productionFlags struct {
	o              bench.ProductionOptions
	layout, memory string
	buffer, out    string
	asJSON         bool
	verbose        bool
}

func newBenchProduction(e *cli.Env) *cobra.Command {
	var f productionFlags
	cmd := &cobra.Command{
		Use:   "production",
		Short: "Write and read the F case as large as in production",
		Long: `Write the F case of E3SM at production size: ne120 (777,602 columns, 72 levels), 21,600
ranks as goroutines of one process, h0 with 414 variables in float and one record, about
15 GiB in each dataset. One dataset is written for each layout and number of subfiles (338
subfiles have 64 ranks each). It is opened, listed and checked, levels of T are read and
compared, ten variables are converted, and the dataset is removed.

Maps and data are generated; the value differs at every position. --buffer bounds the data
that exist at a time: they are put and flushed for some subfiles at once, or, for one
variable-centric file, for some variables at once. The files are the same as with one flush.
Generating maps and data is not timed; checksums, manifest and fsync are. Each phase is a
process of its own. It fails if its resident memory exceeds --memory, and it starts with
files dropped from the page cache where the system allows that. The same run times plain
writes (with fsync) of as many bytes and plain reads of the files.

JSON: {version, date, workloads, host, file_system, go, blobio, libraries, runs, quick, rows: [{workload,
data, what, who, ranks, seconds, bytes, bounds, ...}]}, as in the files that "bench run" keeps.`,
		Example: `  blobio bench production --dir /scratch -o bench/results
  blobio bench production --layout process-centric --subfiles 338 --dir /scratch
  blobio bench production --ne 4 --ranks 96 --subfiles 6,1        # does it run?`,
		Args: cli.ExactArgs(0, "no arguments, only options"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.o.Ne, "ne", 120, "elements along a side of a cube face; columns are 54 ne^2 + 2")
	fl.IntVar(&f.o.Levels, "levels", 72, "levels")
	fl.IntVar(&f.o.Ranks, "ranks", 21600, "ranks")
	fl.IntSliceVar(&f.o.Subfiles, "subfiles", []int{338, 1}, "numbers of subfiles")
	fl.StringVar(&f.layout, "layout", "", "variable-centric or process-centric (default both)")
	fl.IntVar(&f.o.Convert, "convert", 10, "number of variables to convert")
	fl.StringVar(&f.memory, "memory", "8G", "cap of the resident memory of a process")
	fl.StringVar(&f.buffer, "buffer", "1G", "data of the ranks that exist at a time")
	fl.StringVar(&f.o.Dir, "dir", "", "directory on the file system to measure (default: that of temporary files)")
	fl.BoolVar(&f.o.Keep, "keep", false, "leave the datasets")
	fl.StringVarP(&f.out, "output", "o", "", "directory for the file of results (default: results are not kept)")
	cli.OldName(cmd, "out", "output")
	fl.BoolVar(&f.verbose, "verbose", false, "report progress on standard error")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *productionFlags) run(ctx context.Context, e *cli.Env) (err error) {
	o := &f.o
	if e.Procs != nil {
		return cli.Usagef("bench production has its ranks in one process, and is not run by mpirun")
	}
	for _, n := range []int{o.Ne, o.Levels, o.Ranks, o.Convert} {
		if n < 1 {
			return cli.Usagef("--ne, --levels, --ranks and --convert are positive numbers, not %d", n)
		}
	}
	for _, n := range o.Subfiles {
		if n < 1 || n > o.Ranks {
			return cli.Usagef("--subfiles %d, want 1 to %d, the number of ranks", n, o.Ranks)
		}
	}
	if f.layout != "" {
		l, err := blob.ParseLayout(f.layout)
		if err != nil || l == blob.Canonical {
			return cli.Usagef("--layout %q, want variable-centric or process-centric", f.layout)
		}
		o.Layouts = []blob.Layout{l}
	}
	if o.Memory, err = cli.ParseBytes(f.memory); err != nil || o.Memory < 1 {
		return cli.Usagef("--memory %q, want bytes as 8G", f.memory)
	}
	if o.Buffer, err = cli.ParseBytes(f.buffer); err != nil || o.Buffer < 1 {
		return cli.Usagef("--buffer %q, want bytes as 1G", f.buffer)
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if f.out != "" {
		if err := bench.CanSave(f.out); err != nil {
			return err
		}
	}
	if o.Self = self(); o.Self != nil {
		o.Self = append(o.Self, "--tell")
	}
	bar, log := watch(e, f.verbose)
	defer bar.End()
	o.At, o.Log = bar.At, log
	res, err := bench.Production(ctx, *o)
	bar.Clear()
	return tell(ctx, e, res, err, f.asJSON, f.out, printProduction)
}

// printProduction prints a table for each dataset.
func printProduction(e *cli.Env, r *bench.Results) {
	fmt.Fprintf(e.Out, "%s, %s\n", r.Host, r.FileSystem)
	for i := 0; i < len(r.Rows); {
		first := &r.Rows[i]
		fmt.Fprintf(e.Out, "\n%s, %s, %d ranks\n", first.Data, first.Who, first.Ranks)
		t := e.NewTable("  ", "PHASE", ">TIME", ">SIZE", ">RATE", "BESIDE", ">ITS RATE", ">SHARE", ">RESIDENT")
		for ; i < len(r.Rows) && r.Rows[i].Data == first.Data && r.Rows[i].Who == first.Who; i++ {
			row := &r.Rows[i]
			size, mib, beside, theirs, share, memory := "", "", "", "", "", ""
			if row.Bytes > 0 {
				size, mib = cli.HumanBytes(row.Bytes), rate(row.Bytes, row.Median())
			}
			if len(row.Bounds) > 0 {
				b := row.Bounds[0]
				beside, theirs, share = b.What, rate(b.Bytes, b.Seconds[0]), fmt.Sprintf("%.3f", row.Share(b.What))
			}
			if len(row.Memory) > 0 {
				memory = cli.HumanBytes(row.Memory[0])
			}
			t.Row(row.What, bench.Seconds(row.Median()), size, mib, beside, theirs, share, memory)
			for _, ph := range []string{"create", "flush", "close"} {
				if s := row.Phases[ph]; len(s) > 0 {
					t.Row("  "+ph, bench.Seconds(s[0]), "", "", "", "", "", "")
				}
			}
		}
		t.Flush()
		if first.Note != "" {
			fmt.Fprintf(e.Out, "  %s\n", first.Note)
		}
	}
}
