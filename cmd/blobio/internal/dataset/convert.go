package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

type convertFlags struct {
	source sourceFlags
	partFlags
	to       string
	format   string
	records  string
	ranks    int
	subfiles int
	grouping string
	maps     decomps.MapFlags
	caseName string
	fill     string
	drop     bool
	wide     bool
	compress string
	netcdf4  netcdf4Flags
	force    bool
	noSync   bool
	asJSON   bool
	zarr     zarrFlags
}

func NewConvert(e *cli.Env) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a dataset to another layout",
		Long: `Convert a dataset, or a part of it, to another layout: an ordinary netCDF file (the
default), a Zarr 3 directory, or blobs for any number of ranks and subfiles. Memory use is
bounded. The output gets its final name only when it is complete. Under mpirun or srun, the
processes of blobio-mpi share the work.

A chunk of a Zarr directory holds one record, some levels and all columns. A chunk of a
small variable holds several records. --force replaces a directory only if it is a Zarr
directory.

The coordinates of the selected variables are included, unless -C is given. Coordinates are
the coordinate variables of their dimensions, variables named by CF attributes, and
latitudes and longitudes.
` + dimHelp + `

The values of --compress depend on the output. auto suits most data. CDF files have no
compression.

  --netcdf4              shuffle+deflate, deflate (levels :1 to :9), shuffle+zstd, zstd (:1 to :22; other
                         programs need HDF5's plugin for filter 32015); auto is shuffle+deflate:1
  --zarr                 zstd (:1 to :22), gzip (:1 to :9); auto is zstd:3
  --to process-centric   shuffle+zstd, zstd, auto (:1 to :4); only blobio reads such files

Blobs need maps. The first of these that applies is used: the files of --map; maps generated
for --case and --ranks; the maps of the source, if the number of ranks is the same; equal
pieces of the canonical order for --ranks ranks. --map accepts map files in any format. For
.dat, give one file for each map, in order. Each variable gets the first map of its shape,
or with --case the map of the E3SM case. Maps that do not cover all elements of the source
need --drop-uncovered. The maps of the I case are an example: they cover only land.

If subfiles are missing, JSON has the keys missing and lost.`,
		Example: `  blobio convert F_h0.nc F_h0.canonical.nc
  blobio convert --format cdf2 --vars T850,PS --records 0:10 F_h1.nc out.nc
  blobio convert -v U -d lev,40 -d time,0,9,3 F_h1.nc U40.nc   # one level, every third of ten records
  blobio convert -v T850,PS -d lat,30.,60. F_h1.nc north.nc    # by value
  blobio convert --compress zstd F_h0.nc F_h0.zarr
  blobio convert --netcdf4 --compress auto F_h0.nc F_h0.nc4
  blobio convert --to process-centric F_h1.nc F_h1.h5
  blobio convert --to process-centric --compress auto F_h1.h5 F_h1.z.h5
  blobio convert --to variable-centric --ranks 64 --subfiles 4 F_h1.nc F64.nc
  blobio convert --to variable-centric --map map_f_case_16p.nc --case F_h1 in.nc F_h1.nc
  blobio convert --to process-centric --case F_h1 --ranks 512 in.nc F_h1.h5`,
		Args: cli.ExactArgs(2, "a dataset and the name of the output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.to, "to", "canonical", "layout of the output", "canonical", "variable-centric", "process-centric")
	cli.ChoiceFlag(cmd, &f.format, "format", "cdf5", "format of a canonical output", "cdf5", "cdf2", "cdf1", "netcdf4")
	f.netcdf4.add(cmd)
	f.partFlags.add(cmd, "convert only these variables, such as T,PS, and their coordinates")
	f.addAlone(cmd)
	recordsFlag(cmd, &f.records, "convert only these records: FIRST:END (END excluded; either may be omitted), or one number")
	fl.IntVar(&f.ranks, "ranks", 0, "number of blobs of each variable")
	fl.IntVar(&f.subfiles, "subfiles", 1, "number of subfiles")
	cli.ChoiceFlag(cmd, &f.grouping, "grouping", "block", "how ranks are distributed over subfiles", "block", "roundrobin")
	f.maps.Add(cmd)
	fl.StringVar(&f.caseName, "case", "", "E3SM case that assigns maps to variables: "+strings.Join(e3smcases.Names(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("case", cobra.FixedCompletions(e3smcases.Names(), cobra.ShellCompDirectiveNoFileComp))
	cli.FillFlag(cmd, &f.fill)
	fl.BoolVar(&f.drop, "drop-uncovered", false, "blobs: drop elements that no rank owns")
	fl.BoolVar(&f.wide, "wide-maps", false, "blobs: store int64 offsets, for arrays of 2^31 elements or more; only blobio reads such files")
	fl.StringVar(&f.compress, "compress", "off", "lossless compression: a WORD or WORD:LEVEL from the table above, such as auto or zstd")
	_ = cmd.RegisterFlagCompletionFunc("compress", cobra.FixedCompletions([]string{"off", "auto", "zstd", "shuffle+zstd", "deflate", "shuffle+deflate", "gzip"}, cobra.ShellCompDirectiveNoFileComp))
	fl.BoolVar(&f.force, "force", false, "replace an existing output")
	fl.BoolVar(&f.noSync, "no-sync", false, "do not wait until the output is on disk")
	f.zarr.add(cmd)
	f.source.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON, written{})
	return cmd
}

// options returns the options given by the flags alone.
func (f *convertFlags) options(cmd *cobra.Command) (*blob.ConvertOptions, error) {
	o := &blob.ConvertOptions{Ranks: f.ranks, Subfiles: f.subfiles, Force: f.force, DropUncovered: f.drop, FillMissing: f.source.missing, WideMaps: f.wide,
		ZeroFill: f.fill == "zero", Memory: f.source.memory, Workers: f.source.workers}
	var err error
	if err = o.Layout.Set(f.to); err != nil {
		return nil, cli.AsUsage(err)
	}
	o.Blobs = o.Layout != blob.Canonical
	if o.Grouping, err = subfile.ParseGrouping(f.grouping); err != nil {
		return nil, cli.AsUsage(err)
	}
	if o.NetCDF4, err = f.netcdf4.options(cmd, &f.format, f.compress, f.zarr.chunk); err != nil {
		return nil, err
	}
	switch {
	case o.Layout == blob.ProcessCentric:
		if err = o.Compress.Set(f.compress); err != nil {
			return nil, cli.AsUsage(err)
		}
	case o.NetCDF4 == nil && f.compress != "off":
		return nil, cli.Usagef("--compress is for --netcdf4, --zarr and --to process-centric: CDF files have no compression")
	}
	switch {
	case f.zarr.chunk == 0:
	case o.NetCDF4 == nil:
		return nil, cli.Usagef("--chunk is for --netcdf4 and --zarr")
	case f.zarr.chunk > cmp.Or(f.source.memory, defaultMemory)/8:
		return nil, cli.Usagef("--chunk %s is too large, want at most an eighth of --memory", cli.HumanBytes(f.zarr.chunk))
	}
	o.Version = map[string]cdf5.Version{"cdf1": cdf5.CDF1, "cdf2": cdf5.CDF2, "cdf5": cdf5.CDF5}[f.format] // zero for netcdf4
	if f.noSync {
		o.Durability = blob.DurableNone
	}
	if !o.Blobs {
		if err := cli.NotGiven(cmd, "is for blobs: give --to variable-centric or --to process-centric",
			"ranks", "subfiles", "grouping", "map", "slice", "no-sort", "case", "drop-uncovered", "wide-maps"); err != nil {
			return nil, err
		}
	} else if o.NetCDF4 != nil && !cmd.Flags().Changed("format") {
		return nil, cli.Usagef("--netcdf4 is for a canonical output")
	} else if cmd.Flags().Changed("format") {
		return nil, cli.Usagef("--format is for a canonical output")
	}
	if f.ranks < 0 || f.subfiles < 1 {
		return nil, cli.Usagef("--ranks %d --subfiles %d, want positive numbers", f.ranks, f.subfiles)
	}
	if m := f.source.memory; m != 0 && m < leastToConvert {
		return nil, cli.Usagef("--memory %d, want at least %s", m, cli.HumanBytes(leastToConvert))
	}
	if err := decomps.CheckRanks(f.ranks); err != nil {
		return nil, err
	}
	return o, nil
}

func (f *convertFlags) run(cmd *cobra.Command, e *cli.Env, in, out string) error {
	ctx := cmd.Context()
	if z, err := f.wantsZarr(cmd, out); err != nil {
		return err
	} else if z {
		return f.runZarr(ctx, e, in, out)
	}
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	r, err := f.source.open(ctx, e, in)
	if err != nil {
		return err
	}
	defer r.Close()
	if o.Vars, o.Subset, err = f.choose(ctx, r); err != nil {
		return err
	}
	if o.Records, err = parseRecords(f.records, r.Records()); err != nil {
		return err
	}
	if err := f.setMaps(o, r); err != nil {
		return err
	}
	if !f.force && e.Root() {
		if err := IsFree(out, o.Blobs); err != nil {
			return err
		}
	}
	p := e.NewProgress()
	o.Progress = func(done, total int64) { p.At("convert", done, total) }
	start := time.Now()
	err = r.Collective(e.Comm()).Convert(ctx, out, o)
	took := time.Since(start)
	p.End()
	if err != nil {
		if !o.Blobs && f.format != "cdf5" && (errors.Is(err, blob.ErrUsage) || errors.Is(err, blob.ErrTooLarge) || errors.Is(err, blob.ErrUnsupported)) {
			return cli.WithHint(err, "--format cdf5 has no such limits")
		}
		return err
	}
	if !e.Root() {
		return nil
	}
	return f.report(ctx, e, r, out, took)
}

func (f *convertFlags) report(ctx context.Context, e *cli.Env, in *blob.Reader, out string, took time.Duration) error {
	w, err := blob.Open(ctx, out, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	d := describe(vfs.OS, w)
	return f.told(ctx, e, in, &written{In: in.Base(), Out: out, Layout: d.Layout, Vars: len(d.Vars), Records: d.Records, Bytes: d.Bytes}, took, d.summary())
}

type written struct {
	In      string  `json:"in"`
	Out     string  `json:"out"`
	Layout  string  `json:"layout"`
	Vars    int     `json:"variables"`
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"mib_per_second"`

	Missing []string `json:"missing,omitempty"`
	Lost    []lost   `json:"lost,omitempty"`
}

func (f *convertFlags) told(ctx context.Context, e *cli.Env, in *blob.Reader, w *written, took time.Duration, summary string) (err error) {
	if w.Missing = in.Missing(); len(w.Missing) > 0 {
		if w.Lost, err = lostElements(ctx, in); err != nil {
			return err
		}
	}
	w.Seconds, w.Rate = took.Seconds(), float64(w.Bytes)/(1<<20)/took.Seconds()
	return e.Tell(f.asJSON, w, "%s: %s, %s, %d bytes in %.2f s, %.0f MiB/s", w.Out, summary, cli.Plural(w.Vars, "variable"), w.Bytes, w.Seconds, w.Rate)
}

// parseRecords parses --records for n records; nil means all.
func parseRecords(s string, n int64) (*blob.Range, error) {
	first, end, err := cli.Range("records", s, n, "record")
	if s == "" || err != nil {
		return nil, err
	}
	return &blob.Range{First: first, End: end}, nil
}

// setMaps sets the maps of the options from the flags. Without these flags, the dataset must have maps or need none.
func (f *convertFlags) setMaps(o *blob.ConvertOptions, r *blob.Reader) error {
	part, err := r.View(o.Vars, o.Subset)
	if err != nil {
		return err
	}
	s := part.Schema()
	switch {
	case len(f.maps.Files) > 0:
		o.Maps, err = f.maps.LoadToWrite(f.ranks)
	case f.caseName != "":
		o.Maps, err = f.generated(s)
	case o.Blobs && f.ranks == 0 && s.NumDecomps() == 0 && r.Schema().NumDecomps() > 0:
		return cli.Usagef("the maps of %s do not fit a part of its dimensions: give --ranks or --map", r.Base())
	case o.Blobs && f.ranks == 0 && s.NumDecomps() == 0:
		return cli.Usagef("%s has no maps of its own: give --ranks or --map", r.Base())
	default:
		return nil
	}
	if err == nil {
		o.MapOf, o.Maps, err = mapOf(f.caseName, o.Maps, s)
	}
	return err
}

// generated makes the maps of the case for the dimension lengths of a dataset.
func (f *convertFlags) generated(s *blob.Schema) ([]*decomp.Map, error) {
	c, err := e3smcases.Load(f.caseName)
	if err != nil {
		return nil, err
	}
	if f.ranks < 1 {
		return nil, cli.Usagef("--case without --map needs --ranks to generate maps")
	}
	if err := decomps.CheckRanks(f.ranks); err != nil {
		return nil, err
	}
	maps, err := c.Maps(s.Dims(), f.ranks)
	if errors.Is(err, blob.ErrMapMismatch) {
		return nil, cli.WithHint(err, "--map gives the maps")
	}
	return maps, err
}

// mapOf returns a function that chooses the map of a variable by the case, and the maps that some variable of the output uses.
func mapOf(name string, maps []*decomp.Map, s *blob.Schema) (func(*blob.Variable) int, []*decomp.Map, error) {
	byName := map[string]int{} // number of the map, from 1, by variable name
	if name != "" {
		c, err := e3smcases.Load(name)
		if err != nil {
			return nil, nil, cli.Usagef("--case %q, want one of %s", name, strings.Join(e3smcases.Names(), ", "))
		}
		for i := range c.Vars {
			if k := c.Vars[i].Map; k > len(maps) {
				return nil, nil, fmt.Errorf("case %s has %d maps, but the map files have %d", name, len(c.MapDims), len(maps))
			} else if k > 0 {
				byName[c.Vars[i].Name] = k
			}
		}
	}
	used := make([]bool, len(maps))
	for i, v := range s.Vars() {
		shape := s.Shape(blob.VarID(i))
		if k := byName[v.Name]; k > 0 {
			if fmt.Sprint(shape) != fmt.Sprint(maps[k-1].Dims()) {
				return nil, nil, fmt.Errorf("variable %q has shape %v, map D%d has %v", v.Name, shape, k, maps[k-1].Dims())
			}
			used[k-1] = true
		} else if name == "" {
			for k, m := range maps {
				if fmt.Sprint(shape) == fmt.Sprint(m.Dims()) {
					byName[v.Name] = k + 1
					used[k] = true
					break
				}
			}
		}
	}
	var keep []*decomp.Map
	number := make([]int, len(maps))
	for k, m := range maps {
		if used[k] {
			keep = append(keep, m)
			number[k] = len(keep)
		}
	}
	if len(keep) == 0 {
		return nil, nil, errors.New("none of the variables has the shape of a map")
	}
	return func(v *blob.Variable) int {
		if k := byName[v.Name]; k > 0 {
			return number[k-1]
		}
		return 0
	}, keep, nil
}
