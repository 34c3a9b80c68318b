package rates

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/comm"
	"blobio/internal/bench"
	"blobio/internal/cli"
)

type sweepFlags struct {
	o        bench.SweepOptions
	axes     map[string]*[]string
	maps     []string
	scaling  string
	limit    string
	out      string
	plan     bool
	noVerify bool
	asJSON   bool
}

func newBenchSweep(e *cli.Env) *cobra.Command {
	f := sweepFlags{axes: map[string]*[]string{}}
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Measure all combinations of ranks, subfiles and other options",
		Long: `Write, read back and verify datasets for every combination of option values, several times
each, and save the time of each phase. A combination is called a point. Under mpirun or srun
(blobio-mpi) each process is a rank, and points with fewer ranks use the first processes.
Otherwise ranks are goroutines of this process.

An axis is an option with a list of values: --ranks 64,256,1024 --subfiles 1/node,1/target. An
axis that is not given has its default value. --plan prints the points without running them.
Values that cannot be combined are skipped and listed.

Case "even" needs no map file. Its record variables are of type double, and --variables sets
their number. Each rank has --elements elements of each variable, in --pieces pieces that are
assigned to the ranks in turn. The histories of E3SM use generated maps (--ne, --cells, --lat,
...) or maps from files (--map F=FILE). The sizes are those at the smallest number of ranks.
With --scaling weak, the data grow with the number of ranks.

All points run once, then again, --repeats times in total. The phases are create, compute, post
(all puts), flush and close, then open and read. For each phase, the minimum, mean and maximum
over all ranks are reported. The time of a write lasts from create to the end of close on the
slowest rank, including waits. Verification is not timed. Cold reads first drop the files from
the page cache of each node. --drop gives a stronger command, such as remounting the file
system.

Results are saved in the directory --output: sweep.json after each run, sweep.csv at the end.
After an interrupt, the same command continues. A different plan is refused, unless --anew is
given. A failed run is recorded, and the sweep continues. If the job dies or is interrupted
three times during the same run, the run counts as failed, and the sweep continues with the next
run. Datasets are removed after each run.

On Lustre, --set-stripe applies --stripe-size and --stripe-count to the directory of each point
(lfs setstripe).

Exit code 1: some runs failed.

With --plan, JSON is {points, left_out, runs, bytes, largest, written}.`,
		Example: `  blobio bench sweep --ranks 4,16 --subfiles 1,1/node --ranks-per-node 4 -o s1
  blobio bench sweep --case F_h1,G --layout variable,process --ranks 8 --scaling weak -o s2
  blobio bench sweep --ranks 10000 --ranks-per-node 64 --elements 10 --pieces 2 --durability none --repeats 1 -o s3
  blobio bench sweep --ranks 2,4,8 --buffer 256K,1M,4M --durability commit,none --plan
  mpirun -n 16 blobio-mpi bench sweep --ranks 4,16 --aggregators 1,2,4 --read cold --dir /scratch -o s4`,
		Args: cli.ExactArgs(0, "no arguments, only flags"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e) },
	}
	fl := cmd.Flags()
	for _, a := range bench.SweepAxes() {
		v := new([]string)
		f.axes[a.Name] = v
		usage := "`list`: " + a.Usage
		if a.Name != "ranks" {
			usage += fmt.Sprintf(" (default %s)", a.Def)
		}
		fl.StringSliceVar(v, a.Name, nil, usage)
		if len(a.Words) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(a.Name, cobra.FixedCompletions(a.Words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	p := &f.o.Plan
	cli.ChoiceFlag(cmd, &f.scaling, "scaling", "strong", "growth of the data with the number of ranks", "strong", "weak")
	fl.Int64Var(&p.Records, "num-records", 2, "number of records")
	fl.IntVar(&p.Even.Vars, "variables", 8, "even: number of variables")
	fl.Int64Var(&p.Even.Elements, "elements", 4096, "even: `number` of elements of a variable on each rank")
	fl.IntVar(&p.Even.Pieces, "pieces", 16, "even: number of pieces of a variable on each rank")
	fl.IntVar(&p.Sizes.Ne, "ne", 0, "F: number of elements along the edge of a cube face (default 4)")
	fl.IntVar(&p.Sizes.Levels, "lev", 0, "F and G: number of levels (default: F 72, G 100)")
	fl.IntVar(&p.Sizes.Cells, "cells", 0, "G: number of cells of the ocean mesh (default 285)")
	fl.IntVar(&p.Sizes.Lat, "lat", 0, "I: number of latitudes (default 96)")
	fl.IntVar(&p.Sizes.Lon, "lon", 0, "I: number of longitudes (default 144)")
	fl.StringArrayVar(&f.maps, "map", nil, "maps from a file, such as F=map_f_case_16p.nc (repeatable); weak scaling multiplies the lengths of requests")
	fl.BoolVar(&p.Float, "float", false, "store record variables as float; in memory they are double")
	fl.IntVar(&p.Repeats, "repeats", 5, "number of runs of each point")
	fl.BoolVar(&f.noVerify, "no-verify", false, "do not verify the data read")
	fl.IntVar(&p.Targets, "targets", 0, "number of targets of the file system, for --subfiles 1/target (default: as listed by lfs)")
	fl.BoolVar(&p.Stripe, "set-stripe", false, "Lustre: apply --stripe-size and --stripe-count to each directory")
	fl.StringVar(&p.Drop, "drop", "", "shell command before a cold read, run on one rank of each node, to drop caches or remount")
	fl.StringVar(&p.Dir, "dir", "", "directory on the file system to measure, shared by all nodes (default: directory of temporary files)")
	fl.Var(cli.SizeFlag(&p.Space), "space", "maximum size of a dataset in bytes (default: the free space); only one dataset exists at a time")
	fl.Var(cli.SizeFlag(&p.Memory), "memory", "maximum bytes of data of a process (default 1G); further records repeat the first ones")
	fl.StringVar(&f.limit, "limit", "", "start no run after this time, such as 25m; the same command continues later")
	fl.BoolVar(&f.o.Retry, "retry", false, "repeat failed runs")
	fl.BoolVar(&f.o.Anew, "anew", false, "start over and replace the results in --output")
	fl.BoolVar(&f.plan, "plan", false, "print the points and the space they need, do not run them")
	fl.StringVarP(&f.out, "output", "o", "bench-sweep", "directory for the results")
	cli.JSONFlag(cmd, &f.asJSON, bench.Sweep{})
	return cmd
}

// options reads the flags.
func (f *sweepFlags) options(e *cli.Env) (err error) {
	p := &f.o.Plan
	p.Axes, p.Maps = map[string][]string{}, map[string]bench.MapSource{}
	for _, a := range bench.SweepAxes() {
		for _, s := range *f.axes[a.Name] {
			if s = strings.TrimSpace(s); a.Name == "compute" {
				d, err := cli.ParseSpan(s)
				if err != nil {
					return cli.AsUsage(fmt.Errorf("--compute: %w", err))
				}
				s = strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
			} else if s, err = knobText(&bench.Knob{Kind: a.Kind}, s); err != nil {
				return cli.AsUsage(fmt.Errorf("--%s: %w", a.Name, err))
			}
			p.Axes[a.Name] = append(p.Axes[a.Name], s)
		}
	}
	if e.Procs != nil {
		f.o.World = e.Comm()
		if len(p.Axes["ranks"]) == 0 {
			p.Axes["ranks"] = []string{strconv.Itoa(f.o.World.Size())}
		}
		for _, s := range p.Axes["ranks"] {
			if n, _ := strconv.Atoi(s); n > f.o.World.Size() && !f.plan {
				return cli.Usagef("--ranks %s is too many for %s", s, cli.Plural(f.o.World.Size(), "process"))
			}
		}
	}
	for _, m := range f.maps {
		letter, name, ok := strings.Cut(m, "=")
		if !ok || !slices.Contains([]string{"F", "G", "I"}, letter) || name == "" {
			return cli.Usagef("--map %q, want a case and a file, as F=map.nc", m)
		}
		src := p.Maps[letter]
		src.Files = append(src.Files, name) // several .dat files
		p.Maps[letter] = src
	}
	s := p.Sizes
	if min(s.Ne, s.Levels, s.Cells, s.Lat, s.Lon) < 0 {
		return cli.Usagef("sizes must be positive numbers")
	}
	if f.limit != "" {
		if f.o.Limit, err = cli.ParseSpan(f.limit); err != nil {
			return cli.AsUsage(fmt.Errorf("--limit: %w", err))
		}
	}
	p.Weak, p.Verify = f.scaling == "weak", !f.noVerify
	if p.Memory == 0 {
		p.Memory = 1 << 30
	}
	if p.Dir == "" {
		p.Dir = os.TempDir()
	}
	f.o.State = filepath.Join(f.out, "sweep.json")
	return nil
}

func (f *sweepFlags) run(cmd *cobra.Command, e *cli.Env) error {
	if err := f.options(e); err != nil {
		return err
	}
	if f.plan {
		if !e.Root() {
			return nil
		}
		return f.tell(cmd.Context(), e)
	}
	var made error
	if e.Root() {
		made = bench.CanSave(f.out)
	}
	if e.Procs != nil {
		made = comm.Agree(cmd.Context(), e.Comm(), made)
	}
	if made != nil {
		return made
	}
	bar := e.NewCount()
	defer bar.End()
	f.o.At = bar.At
	f.o.Log = func(s string) {
		bar.Clear()
		fmt.Fprintln(e.Stderr, s)
	}
	res, err := bench.RunSweep(cmd.Context(), f.o)
	bar.End()
	if res == nil {
		return err
	}
	if werr := f.write(cmd.Context(), res); err == nil {
		err = werr
	}
	if f.asJSON {
		if perr := e.PrintJSON(res); err == nil {
			err = perr
		}
	} else {
		f.print(e, res)
	}
	if err == nil && res.Failed() > 0 {
		e.Code = cli.Findings
	}
	return err
}

// tell prints the plan.
func (f *sweepFlags) tell(ctx context.Context, e *cli.Env) error {
	t, err := f.o.Plan.Table(ctx)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(t)
	}
	shown := f.o.Plan.Shown()
	heads := []string{">POINT"}
	for _, a := range shown {
		heads = append(heads, strings.ToUpper(a))
	}
	table := e.NewTable("", append(heads, ">SIZE")...)
	for i, p := range t.Points {
		row := []any{i}
		for _, a := range shown {
			row = append(row, bench.AxisText(a, p[a]))
		}
		table.Row(append(row, cli.HumanBytes(t.Bytes[i]))...)
	}
	table.Flush()
	f.left(e, t.Left)
	fmt.Fprintf(e.Out, "%s, %s; %s written in all, at most %s at a time\n", cli.Plural(len(t.Points), "point"), cli.Plural(t.Runs, "run"), cli.HumanBytes(t.Written), cli.HumanBytes(t.Largest))
	return nil
}

func (f *sweepFlags) left(e *cli.Env, list []bench.SweepSkip) {
	for _, s := range list {
		fmt.Fprintf(e.Out, "skipped: %s: %s\n", cli.Plural(s.Points, "point"), s.Why)
	}
}

// write writes the table to sweep.csv in the directory of the sweep.
func (f *sweepFlags) write(ctx context.Context, s *bench.Sweep) error {
	name := filepath.Join(f.out, "sweep.csv")
	_, err := cli.WriteFile(ctx, name, true, s.WriteCSV)
	return err
}

func (f *sweepFlags) print(e *cli.Env, s *bench.Sweep) {
	shown := s.Plan.Shown()
	var heads []string
	for _, a := range shown {
		heads = append(heads, strings.ToUpper(a))
	}
	heads = append(heads, ">FILES", ">DATA", ">RUNS", ">WRITE", ">FROM", ">TO", ">RATE", ">CREATE", ">POST", ">FLUSH", ">CLOSE")
	reads := slices.ContainsFunc(s.Runs, func(r bench.SweepRun) bool { return r.Read > 0 })
	if reads {
		heads = append(heads, ">READ", ">RATE")
	}
	t := e.NewTable("", heads...)
	for _, m := range s.Means() {
		var row []any
		for _, a := range shown {
			row = append(row, bench.AxisText(a, m.Axes[a]))
		}
		if m.Runs == 0 {
			t.Row(append(row, "", "", "failed")...)
			continue
		}
		row = append(row, m.Files, cli.HumanBytes(m.Data), m.Runs, bench.Seconds(m.Write), bench.Seconds(m.WriteLeast), bench.Seconds(m.WriteMost), rate(m.Data, m.Write))
		for _, p := range []string{"create", "post", "flush", "close"} {
			row = append(row, bench.Seconds(m.Phases[p]))
		}
		if reads {
			row = append(row, bench.Seconds(m.Read), rate(m.Data, m.Read))
		}
		t.Row(row...)
	}
	t.Flush()
	for _, m := range s.Means() {
		if m.Failed > 0 {
			fmt.Fprintf(e.Out, "%s of %s failed: %s\n", cli.Plural(m.Failed, "run"), s.Plan.PointName(m.Axes), m.Error)
		}
	}
	f.left(e, s.Left)
	fmt.Fprintf(e.Out, "%d of %s; results are in %s\n", len(s.Runs), cli.Plural(s.All, "run"), f.out)
	if len(s.Runs) < s.All {
		fmt.Fprintln(e.Out, "the same command continues")
	}
}
