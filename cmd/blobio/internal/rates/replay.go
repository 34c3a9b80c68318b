package rates

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"blobio/bench"
	"blobio/blob"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/comm"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/cli"
)

type replayFlags struct {
	gen          decomps.GenFlags
	maps         decomps.MapFlags
	caseName     string
	history      string
	layout       string
	placement    string
	subfiles     int
	nodes        int
	ranksPerNode int
	records      int64
	flush        int
	async        bool
	float        bool
	pattern      string
	out          string
	keep         bool
	force        bool
	noVerify     bool
	noConvert    bool
	noSync       bool
	memory       int64
	openEnded    bool
	knobs        knobFlags
	asJSON       bool
}

func NewReplay(e *cli.Env) *cobra.Command { return newReplay(e, new(replayFlags)) }

func newReplay(e *cli.Env, f *replayFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Write, read back and verify E3SM history files, and measure times",
		Long: `Write the history files of an E3SM case in both blob layouts. Then read back and verify every
element, and convert the datasets to ordinary netCDF. Ranks are goroutines of this process. A
table shows sizes and times.

The default is the F case (h0 and h1) with 16 ranks. Maps are generated for the number of
ranks, or read from --map.

--pattern selects the values: "unique", a hash of variable, record and position, which
detects misplaced elements; "reference", the rank of the owner, as in E3SM-IO; or "smooth",
fields like a model's.

Files go to a temporary directory, which is removed unless -o or --keep is given.

The options of the library's writers and readers are flags: --durability, --buffer,
--stripe-size and so on.

Under mpirun or srun (blobio-mpi) each process is a rank.`,
		Example: `  blobio replay
  blobio replay --case G --ranks 64 --subfiles 4 -o run
  blobio replay --case F --ne 30 --ranks 512 --history h1 --num-records 4 --float
  blobio replay --case I --map map_i_case_16p.nc --slice reference --pattern reference -o i
  blobio replay --pattern smooth --float --compress auto
  blobio replay --nodes 2 --placement roundrobin --flush 2 --num-records 5
  blobio replay --case G --durability data --buffer 1M --stripe-size 1M --stripe-count 8`,
		Args: cli.ExactArgs(0, "no arguments, only flags"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e)
		},
	}
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.caseName, "case", "F", "case (F atmosphere, G ocean, I land), or one history of a case", append([]string{"F", "G", "I"}, histories()...)...)
	cli.ChoiceFlag(cmd, &f.history, "history", "both", "history files of the F or I case", "h0", "h1", "both")
	cli.ChoiceFlag(cmd, &f.layout, "layout", "both", "layout", "both", "variable", "process")
	f.gen.Add(cmd)
	f.maps.Add(cmd)
	fl.IntVar(&f.subfiles, "subfiles", 0, "number of subfiles (default: one for each node)")
	fl.IntVar(&f.nodes, "nodes", 0, "number of nodes for the ranks (default 1)")
	fl.IntVar(&f.ranksPerNode, "ranks-per-node", 0, "number of ranks on each node, instead of --nodes")
	cli.ChoiceFlag(cmd, &f.placement, "placement", "block", "placement of ranks on nodes", "block", "roundrobin")
	fl.Int64Var(&f.records, "num-records", 1, "number of records of F_h1, G and I_h0")
	fl.IntVar(&f.flush, "flush", 1, "number of records between flushes; -1: one flush at the end")
	fl.BoolVar(&f.async, "async", false, "flush in the background while the next data are generated")
	fl.BoolVar(&f.float, "float", false, "store record variables as float (-j of E3SM-IO)")
	cli.ChoiceFlag(cmd, &f.pattern, "pattern", "unique", "values", "unique", "reference", "smooth")
	fl.StringVarP(&f.out, "output", "o", "", "directory for the files, created if needed (default: a temporary one that is removed)")
	fl.BoolVar(&f.keep, "keep", false, "keep the temporary directory")
	fl.BoolVar(&f.force, "force", false, "replace datasets of the same name")
	fl.BoolVar(&f.noVerify, "no-verify", false, "skip the read-back that compares all elements")
	fl.BoolVar(&f.noConvert, "no-convert", false, "do not convert to ordinary netCDF")
	fl.BoolVar(&f.noSync, "no-sync", false, "do not wait until the files are on disk")
	fl.Var(cli.SizeFlag(&f.memory), "memory", "memory limit of the data that all ranks hold before a flush (default 1G)")
	fl.BoolVar(&f.openEnded, "no-fixed-records", false, "process-centric: leave the number of records open at creation; all data stay in memory until close")
	f.knobs.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"dir": "", "kept": true, "results": []bench.Result{}})
	return cmd
}

// histories returns the names of single histories that are not also cases.
func histories() (out []string) {
	for _, n := range e3smcases.Names() {
		if strings.Contains(n, "_") {
			out = append(out, n)
		}
	}
	return out
}

func (f *replayFlags) options(cmd *cobra.Command, e *cli.Env) (o bench.ReplayOptions, err error) {
	letter, _, single := strings.Cut(f.caseName, "_")
	o = bench.ReplayOptions{Case: f.caseName, Base: letter, Records: f.records, Flush: f.flush, Async: f.async, Float: f.float,
		Subfiles: f.subfiles, Verify: !f.noVerify, Convert: !f.noConvert, Force: f.force, Buffer: f.memory}
	if f.history != "both" {
		if single || letter == "G" {
			return o, cli.Usagef("--history %s: case %s has only one history", f.history, f.caseName)
		}
		o.Case += "_" + f.history
	}
	switch {
	case f.records < 1:
		return o, cli.Usagef("--num-records %d, want a positive number", f.records)
	case f.flush == 0 || f.flush < -1:
		return o, cli.Usagef("--flush %d, want a positive number, or -1", f.flush)
	case f.subfiles < 0 || f.nodes < 0 || f.ranksPerNode < 0:
		return o, cli.Usagef("--subfiles, --nodes and --ranks-per-node want positive numbers")
	case f.nodes > 0 && f.ranksPerNode > 0:
		return o, cli.Usagef("--nodes and --ranks-per-node cannot be combined")
	case f.out != "" && f.keep:
		return o, cli.Usagef("--keep applies only to the temporary directory; -o always keeps its files")
	}
	if o.Pattern, err = e3smcases.ParsePattern(f.pattern); err != nil {
		return o, cli.AsUsage(err)
	}
	if f.layout != "both" {
		var l blob.Layout
		if err := l.Set(f.layout); err != nil {
			return o, cli.AsUsage(err)
		}
		o.Layouts = []blob.Layout{l}
	}
	o.OpenEnded = f.openEnded
	if err := f.knobs.set(&o.Options, &o.Open); err != nil {
		return o, err
	}
	if o.Options.Compress.On() {
		if cmd.Flags().Changed("layout") && f.layout != "process" {
			return o, cli.Usagef("--compress needs --layout process: CDF-5, the variable-centric layout, has no compression")
		}
		o.Layouts = []blob.Layout{blob.ProcessCentric}
	}
	retain := o.Options.Retain
	o.Retain = &retain
	if f.noSync {
		if cmd.Flags().Changed("durability") {
			return o, cli.Usagef("--no-sync means --durability none: give only one of them")
		}
		o.Options.Durability = blob.DurableNone
	}
	if e.Procs != nil && !cmd.Flags().Changed("ranks") { // each process is a rank
		if err := cmd.Flags().Set("ranks", fmt.Sprint(e.Comm().Size())); err != nil {
			return o, err
		}
	}
	if o.Maps, err = f.loadMaps(cmd, letter); err != nil {
		return o, err
	}
	ranks := o.Maps[0].Ranks()
	if e.Procs != nil && ranks != e.Comm().Size() {
		return o, cli.Usagef("--ranks %d, but the number of processes is %d", ranks, e.Comm().Size())
	}
	o.Nodes.RanksPerNode = f.ranksPerNode
	if f.nodes > ranks || f.subfiles > ranks {
		return o, cli.Usagef("--nodes %d --subfiles %d are too many for %s", f.nodes, f.subfiles, cli.Plural(ranks, "rank"))
	}
	if f.nodes > 0 {
		per := (ranks + f.nodes - 1) / f.nodes
		if n := (ranks + per - 1) / per; n != f.nodes {
			return o, cli.Usagef("--nodes %d is not possible: %s with %d on each node need only %s; choose --ranks-per-node", f.nodes, cli.Plural(ranks, "rank"), per, cli.Plural(n, "node"))
		}
		o.Nodes.RanksPerNode = per
	}
	if f.placement == "roundrobin" && e.Procs != nil {
		return o, cli.Usagef("--placement roundrobin needs ranks inside one process")
	}
	o.Nodes.RoundRobin = f.placement == "roundrobin"
	return o, nil
}

func (f *replayFlags) loadMaps(cmd *cobra.Command, letter string) ([]*decomp.Map, error) {
	if len(f.maps.Files) == 0 {
		if err := cli.NotGiven(cmd, "needs maps of --map", "slice", "no-sort"); err != nil {
			return nil, err
		}
		if err := f.gen.Stray(cmd, letter); err != nil {
			return nil, err
		}
		return f.gen.Maps(letter)
	}
	if err := cli.NotGiven(cmd, "applies to generated maps, not to --map", "ne", "lev", "cells", "lat", "lon", "levels", "seed"); err != nil {
		return nil, err
	}
	ranks := 0
	if cmd.Flags().Changed("ranks") {
		if ranks = f.gen.Ranks; ranks < 1 {
			return nil, cli.Usagef("--ranks %d, want a positive number", ranks)
		}
	}
	f.maps.Coalesce = true // to write the same bytes as E3SM-IO
	return f.maps.Load(ranks)
}

func (f *replayFlags) run(cmd *cobra.Command, e *cli.Env) (err error) {
	ctx := cmd.Context()
	o, err := f.options(cmd, e)
	if err != nil {
		return err
	}
	if err := decomps.WarnShared(e, o.Maps); err != nil {
		return err
	}
	if o.Dir, err = f.makeDir(ctx, e); err != nil {
		return err
	}
	if f.out == "" && !f.keep && e.Root() {
		defer func() {
			if rerr := os.RemoveAll(o.Dir); err == nil {
				err = rerr
			}
		}()
	}
	p := e.NewProgress()
	defer p.End()
	o.Progress = p.At
	var results []bench.Result
	if e.Procs == nil {
		results, err = bench.Replay(ctx, o)
	} else {
		err = e.Procs.OnNodes(o.Nodes.RanksPerNode, func(c comm.Comm) error {
			o.Comm = c
			results, err = bench.Replay(ctx, o)
			return err
		})
	}
	p.End()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if !e.Root() {
		return nil
	}
	kept := f.out != "" || f.keep
	if f.asJSON {
		return e.PrintJSON(map[string]any{"dir": o.Dir, "kept": kept, "results": results})
	}
	f.print(e, results)
	if kept {
		fmt.Fprintf(e.Out, "\nfiles are in %s\n", o.Dir)
	}
	return nil
}

// makeDir makes the directory for the files, and returns its name.
func (f *replayFlags) makeDir(ctx context.Context, e *cli.Env) (string, error) {
	if e.Procs != nil && f.out == "" {
		node, err := e.Comm().SplitNode(ctx)
		if err != nil {
			return "", err
		}
		if node.Size() != e.Comm().Size() {
			return "", cli.Usagef("-o is missing, want a directory that all nodes share")
		}
	}
	dir := f.out
	var err error
	if !e.Root() {
	} else if dir != "" {
		err = os.MkdirAll(dir, 0o777)
	} else {
		dir, err = os.MkdirTemp("", "blobio-replay-")
	}
	if err != nil || e.Procs == nil {
		return dir, err
	}
	b, err := e.Comm().Bcast(ctx, 0, []byte(dir))
	return string(b), err
}

func (f *replayFlags) print(e *cli.Env, results []bench.Result) {
	heads := []string{"CASE", "LAYOUT", ">RANKS", ">SUBFILES", ">VARS", ">RECORDS", ">SIZE", ">WRITE", ">RATE"}
	if !f.noVerify {
		heads = append(heads, ">READ", ">RATE", ">VERIFIED", ">UNOWNED")
	}
	if !f.noConvert {
		heads = append(heads, ">CONVERT", ">RATE")
	}
	t := e.NewTable("", heads...)
	verified := int64(0)
	for _, r := range results {
		row := []any{r.Case, r.Layout, r.Ranks, r.Subfiles, r.Vars, r.Records, cli.HumanBytes(r.Bytes), seconds(r.Write), rate(r.Bytes, r.Write)}
		if !f.noVerify {
			row = append(row, seconds(r.Read), rate(r.Bytes, r.Read), r.Verified, r.Uncovered)
			verified += r.Verified
		}
		if !f.noConvert {
			row = append(row, seconds(r.Convert), rate(r.CanBytes, r.Convert))
		}
		t.Row(row...)
	}
	t.Flush()
	if !f.noVerify {
		fmt.Fprintf(e.Out, "\nverified %d elements: all correct\n", verified)
	}
}

func seconds(s float64) string { return fmt.Sprintf("%.3f s", s) }

func rate(bytes int64, s float64) string {
	if s <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MiB/s", float64(bytes)/(1<<20)/s)
}
