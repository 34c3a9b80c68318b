package rates

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/bench"
	"blobio/internal/cli"
)

func NewBench(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure writing, reading and converting, beside the machine's own limits and other libraries",
		Long: `Run repeatable measurements of blobio. A workload is a named set of measurements. Each
row is the median of at least five runs, with minimum and maximum. Rows that are compared
take turns. Each row is set beside plain writes, reads or copies of the same bytes in the
same run.

Small C programs that come with blobio measure PnetCDF, HDF5 and netCDF-4. They are
built if mpicc, make, pkg-config and the libraries are installed.`,
		Example: `  blobio bench list
  blobio bench run ne30 read convert --dir /dev/shm
  blobio bench run peers --dir /dev/shm --maps maps --runs 7 -o bench/results
  blobio bench sweep --ranks 4,16 --subfiles 1,4 --repeats 3 -o sweep`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newBenchList(e), newBenchRun(e), newBenchScale(e), cli.AsTogether(newBenchSweep(e)), newBenchShow(e), cli.AsTogether(cli.AsService(newBenchWorker(e))))
	return cmd
}

func newBenchList(e *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the workloads",
		Long:    "List the workloads.\n\nJSON: {\"workloads\": [{name, about}]}.",
		Example: "  blobio bench list",
		Args:    cli.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			type workload struct {
				Name  string `json:"name"`
				About string `json:"about"`
			}
			var list []workload
			for _, w := range bench.Workloads() {
				list = append(list, workload{w.Name, w.About})
			}
			if asJSON {
				return e.PrintJSON(map[string]any{"workloads": list})
			}
			t := e.NewTable("", "WORKLOAD", "WHAT")
			for _, w := range list {
				t.Row(w.Name, w.About)
			}
			t.Flush()
			return nil
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

type benchFlags struct {
	dir, maps, peers, mpiBin, out, resume string
	peerBins, only                        []string
	ranks                                 []int
	runs                                  int
	limit                                 time.Duration
	quick, verbose, noTune, asJSON        bool
}

func newBenchRun(e *cli.Env) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "run [WORKLOAD...]",
		Short: "Run workloads, all without a name",
		Long: `Run the named workloads, or all; print a table, and keep the results of each as a JSON
file in the directory --output. Temporary files go to a directory of their own below
--dir and are removed, also after an interrupt.

Rows with processes need a blobio built with -tags mpi: this one, a blobio-mpi beside it
or in the PATH, or that of --mpi-bin. In a checkout with Go it is built. The peers first
try several settings of MPI-IO; the best one counts.

--peer-bin also times builds of E3SM-IO itself; they need captured maps (--maps).

A long run can be done in pieces: --for is how long this one may take, --resume names the
file of results that keeps what is measured and goes on with it. A run that leaves something
says so and exits with 1; repeat it until it exits with 0.

--json prints the kept results instead of the table, one value for each workload.
JSON: {version, date, workloads, host, file_system, go, blobio, libraries, runs, quick,
rows: [{workload, data, what, who, ranks, as, sync, bytes, seconds: [], cpu_seconds: [],
phases, bounds: [{what, bytes, seconds: []}], lent, memory, tuning, library, note}], skipped}`,
		Example: `  blobio bench run --quick                                # does it run?
  blobio bench run ceilings ne30 read convert --dir /dev/shm
  blobio bench run peers processes --dir /dev/shm --maps maps --peer-bin e3sm_io
  until blobio bench run processes --dir /dev/shm --maps maps --runs 7 --resume r.json --for 2m; do :; done`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dir, "dir", "", "directory on the file system to measure (default: that of temporary files)")
	fl.IntVar(&f.runs, "runs", 5, "runs of each row")
	fl.BoolVar(&f.quick, "quick", false, "smallest sizes and two runs: shows that everything works; the figures mean nothing")
	fl.StringVar(&f.maps, "maps", "", "directory with the captured maps of E3SM-IO (map_f_case_16p.nc, ...); default: generated ones of their size")
	fl.StringVar(&f.peers, "peers", "", "directory in which the peers are built and kept (default: a temporary one)")
	fl.StringSliceVar(&f.peerBins, "peer-bin", nil, "builds of E3SM-IO's e3sm_io to time as well, with other versions of PnetCDF")
	fl.StringArrayVar(&f.only, "only", nil, "data of the workloads processes and canonical: \"F h0\", \"F h0, runs x10\", G, \"I h0\" (default: all)")
	fl.IntSliceVar(&f.ranks, "ranks", nil, "numbers of processes of those workloads (default: 1, 2, 4, 16; canonical 4, 16)")
	fl.StringVar(&f.resume, "resume", "", "file of results to go on with; made if it is not there")
	fl.DurationVar(&f.limit, "for", 0, "begin nothing new after this time; needs --resume")
	fl.BoolVar(&f.noTune, "no-tune", false, "run the peers with one setting of MPI-IO, do not search for the best")
	fl.StringVar(&f.mpiBin, "mpi-bin", "", "a blobio built with -tags mpi")
	fl.StringVarP(&f.out, "output", "o", "", "directory for the files of results (default: bench-results; none with --quick)")
	cli.OldName(cmd, "out", "output")
	cli.JSONFlag(cmd, &f.asJSON)
	fl.BoolVar(&f.verbose, "verbose", false, "report progress on standard error")
	return cmd
}

func (f *benchFlags) run(ctx context.Context, e *cli.Env, names []string) (err error) {
	names, o, err := f.options(e, names)
	if err != nil {
		return err
	}
	tools, err := os.MkdirTemp("", "blobio-tools-") // not where the files go: that may be slow, or forbid programs
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(tools); err == nil {
			err = rerr
		}
	}()
	if o.Peers == "" {
		o.Peers = filepath.Join(tools, "peers")
	}
	o.Self = self()
	bar, log := watch(e, f.verbose)
	defer bar.End()
	o.At, o.Log = bar.At, log
	if slices.Contains(names, "processes") || slices.Contains(names, "canonical") || slices.Contains(names, "redset") {
		if o.MPI, err = bench.FindMPI(ctx, f.mpiBin, tools); err != nil {
			return err
		}
	}
	for i, n := range names {
		res, err := bench.Run(ctx, o, n)
		bar.Clear()
		if i > 0 && !f.asJSON && res != nil && len(res.Rows) > 0 {
			fmt.Fprintln(e.Out)
		}
		if f.resume != "" {
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "results are in %s\n", f.resume)
			continue
		}
		if err := tell(ctx, e, res, err, f.asJSON, f.out, printBench); err != nil {
			return err
		}
	}
	return nil
}

// options are the names of the workloads and what the flags say of them.
func (f *benchFlags) options(e *cli.Env, names []string) (list []string, o bench.Options, err error) {
	switch {
	case f.runs < 1:
		return nil, o, cli.Usagef("--runs %d, want a positive number", f.runs)
	case f.limit != 0 && f.resume == "":
		return nil, o, cli.Usagef("--for needs --resume, the file that keeps what is measured")
	case e.Procs != nil:
		return nil, o, cli.Usagef("bench starts its processes itself, and is not run by mpirun")
	}
	var all []string
	for _, w := range bench.Workloads() {
		all = append(all, w.Name)
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, o, cli.Usagef("no workload %q, want some of %s", n, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		names = all
	}
	if f.out == "" && !f.quick && f.resume == "" {
		f.out = "bench-results"
	}
	o = bench.Options{Dir: cmp.Or(f.dir, os.TempDir()), Runs: f.runs, Quick: f.quick, Maps: f.maps, Peers: f.peers, PeerBins: f.peerBins, NoTune: f.noTune, Only: f.only, Ranks: f.ranks, Resume: f.resume, For: f.limit}
	for i, name := range o.PeerBins {
		if o.PeerBins[i], err = exec.LookPath(name); err != nil {
			return nil, o, err
		}
	}
	if f.maps != "" {
		if _, err := os.Stat(f.maps); err != nil {
			return nil, o, err
		}
	}
	if f.out != "" {
		err = bench.CanSave(f.out)
	}
	return names, o, err
}

// self is how a worker of this program is started; nil if it is a test.
func self() []string {
	if exe, err := os.Executable(); err == nil && !strings.HasSuffix(exe, ".test") {
		return []string{exe, "bench", "worker"}
	}
	return nil
}

// watch is a bar, and what takes lines of text between its reports; nil if nobody wants them.
func watch(e *cli.Env, verbose bool) (*cli.Progress, func(string)) {
	bar := e.NewCount()
	if !verbose {
		return bar, nil
	}
	return bar, func(s string) {
		bar.Clear()
		fmt.Fprintln(e.Stderr, s)
	}
}

// tell prints results, keeps them in a directory unless dir is "", and returns the error of their run. What was cut short is shown, but
// not kept.
func tell(ctx context.Context, e *cli.Env, res *bench.Results, err error, asJSON bool, dir string, show func(*cli.Env, *bench.Results)) error {
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
		show(e, res)
	}
	if err != nil {
		if !asJSON {
			fmt.Fprintln(e.Out, "\ncut short; these rows are not kept")
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

// newBenchWorker is what bench starts: a process of its own, or several under mpirun.
func newBenchWorker(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker WORK",
		Short: "Do one piece of work for bench run",
		Long:  "Do one piece of work for bench run, which writes the file WORK. Under mpirun each process is a rank.",
		Example: `  blobio bench worker work.json
  mpirun -n 4 blobio-mpi bench worker work.json`,
		Hidden: true,
		Args:   cli.ExactArgs(1, "a file with the work"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := bench.LoadWork(args[0])
			if err != nil {
				return err
			}
			engine := bench.Goroutines(max(w.Job.Ranks, 1))
			if e.Procs != nil {
				engine = bench.Processes(e.Comm())
			}
			took, err := w.Do(cmd.Context(), engine)
			if err != nil || !e.Root() {
				return err
			}
			return e.PrintJSON(took)
		},
	}
	return cmd
}
