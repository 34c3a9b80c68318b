package decomps

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/decomp/mapfile"
	"blobio/internal/cli"
)

type mapOutput struct {
	format string
	force  bool
	wide   bool
	asJSON bool
}

func (o *mapOutput) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &o.format, "format", "auto", "format of the output: dat (PIO text), cdf or hdf5; auto uses the extension (.dat, .nc, .h5)", "auto", "dat", "cdf", "hdf5")
	fl.BoolVar(&o.force, "force", false, "replace an existing output")
	fl.BoolVar(&o.wide, "wide", false, "store 64-bit offsets, for arrays of more than 2^31-1 elements; E3SM-IO cannot read them")
	cli.JSONFlag(cmd, &o.asJSON)
}

// form returns dat, cdf or hdf5.
func (o *mapOutput) form(name string) (string, error) {
	if o.format != "auto" {
		return o.format, nil
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".dat", ".txt":
		return "dat", nil
	case ".nc", ".cdf", ".nc5":
		return "cdf", nil
	case ".h5", ".hdf5":
		return "hdf5", nil
	}
	return "", cli.Usagef("unknown extension of the output %q, want .dat, .nc or .h5, or give --format", name)
}

// write writes the maps to a file. As text, several maps get several files.
func (o *mapOutput) write(ctx context.Context, e *cli.Env, name string, f *mapfile.File) error {
	form, err := o.form(name)
	if err != nil {
		return err
	}
	names := []string{name}
	wo := &mapfile.WriteOptions{Wide: o.wide}
	put := func(_ int, w io.Writer) error { return mapfile.WriteCDF(w, f, wo) }
	switch form {
	case "hdf5":
		put = func(_ int, w io.Writer) error { return mapfile.WriteHDF5(w, f, wo) }
	case "dat":
		if ext := filepath.Ext(name); len(f.Maps) > 1 {
			names = nil
			for k := range f.Maps {
				names = append(names, fmt.Sprintf("%s.D%d%s", strings.TrimSuffix(name, ext), k+1, ext))
			}
		}
		put = func(k int, w io.Writer) error { return mapfile.WriteDat(w, &f.Maps[k]) }
	}
	done, err := cli.WriteFiles(ctx, names, o.force, put)
	if err != nil {
		return err
	}
	if o.asJSON {
		return e.PrintJSON(map[string]any{"format": form, "maps": len(f.Maps), "ranks": f.Procs, "files": done})
	}
	for _, d := range done {
		fmt.Fprintf(e.Out, "%s: %s, %s of %s, %s\n", d.Path, formName(form), cli.Plural(len(f.Maps)/len(done), "map"), cli.Plural(f.Procs, "rank"), cli.HumanBytes(d.Bytes))
	}
	return nil
}

func formName(form string) string {
	return map[string]string{"dat": "PIO text", "cdf": "CDF-5", "hdf5": "HDF5"}[form]
}

func newDecompConvert(e *cli.Env) *cobra.Command {
	var o mapOutput
	var ranks int
	var how MapFlags
	cmd := &cobra.Command{
		Use:   "convert IN... OUT",
		Short: "Convert maps to another format",
		Long: `Convert maps to another format. The extension of OUT, or --format, selects PIO text (.dat),
CDF (.nc) or HDF5 (.h5). Several .dat files become the maps D1, D2, ... of one map file, in
the order given. Several maps written as text become several files: maps.dat becomes
maps.D1.dat, maps.D2.dat, ...

Maps are written unchanged, including fillers. With --ranks, --slice or --no-sort, maps are
first distributed over ranks, sorted and merged, as in a dataset.

JSON: {format, maps, ranks, files: [{path, bytes}]}.`,
		Example: `  blobio decomp convert piodecomp_514.dat piodecomp_516.dat piodecomp_548.dat map.nc
  blobio decomp convert map.nc map.h5
  blobio decomp convert map.nc maps.dat              # maps.D1.dat, maps.D2.dat, ...
  blobio decomp convert run/F_h0.nc.0000 map_f.nc    # the maps of a dataset`,
		Args: cli.MinArgs(2, "at least one input, and an output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, out := cmd.Context(), args[len(args)-1]
			if _, err := o.form(out); err != nil {
				return err
			}
			if ranks < 0 {
				return cli.Usagef("--ranks %d, want a positive number", ranks)
			}
			src, err := openMaps(ctx, args[:len(args)-1]...)
			if err != nil {
				return err
			}
			f := src.file
			if fl := cmd.Flags(); fl.Changed("ranks") || fl.Changed("slice") || fl.Changed("no-sort") {
				maps, err := how.deal(f, ranks)
				if err != nil {
					return err
				}
				if f, err = mapfile.FromMaps(maps...); err != nil {
					return err
				}
			}
			return o.write(ctx, e, out, f)
		},
	}
	o.add(cmd)
	how.addHow(cmd)
	cmd.Flags().IntVar(&ranks, "ranks", 0, "number of ranks over which the processes of the map are distributed")
	return cmd
}
