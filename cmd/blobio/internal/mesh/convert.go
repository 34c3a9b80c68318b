package mesh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/amr"
	"blobio/internal/amr/netcdf"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

type amrConvertFlags struct {
	out    amrOutput
	order  string
	leaves bool
	levels string
	fields []string
	bare   bool
	grids  bool
	enzo   bool
	trust  amrTrust
}

func newAmrConvert(e *cli.Env) *cobra.Command {
	var f amrConvertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a checkpoint to netCDF, or to other files or another order",
		Long: `Convert a checkpoint to one netCDF file (the default), or with --to cello to a checkpoint with
other files, order, blocks or fields. State and data of all blocks stay the same, bit for bit.
Memory use is bounded. The output gets its final name only when it is complete. Data are
compared with their checksums, if there are any. Output of --no-verify or of scrambled cells
is marked.

Enzo-E can restart from a checkpoint with all blocks and fields, divided among any number of
files. --leaves, --levels and --fields make a dump, which is only for analysis. With
--for-enzo-e, Enzo-E can restart from blocks of any shape: the dimensions of the datasets are
reversed, as Enzo-E expects; the bytes of the data stay the same.

The netCDF file is also for analysis. It has variables such as field_density(block, z, y, x),
and tables such as block_level. --grids adds the leaf blocks of each level on the uniform
grid of the level, such as density_2(z_2, y_2, x_2), with fill values elsewhere, and the
centres of cells x_2, y_2 and z_2. "blobio mount" and "blobio serve" show the same variables
without writing a file.

--to yt makes a directory for yt: yt.load("OUT/OUT.block_list"). yt requires ghost zones;
missing ghost zones are filled with the nearest cells.

JSON: {path, form, blocks, leaves, files, bytes, seconds, mib_per_second}.`,
		Example: `  blobio amr convert Check-10 mesh.nc                        # one CDF-5 file
  blobio amr convert --grids --fields density Check-10 rho.nc && ncview rho.nc
  blobio amr convert --to cello --files 16 Check-10 Check-16
  blobio amr convert --to cello --for-enzo-e Check-10 restart/Check-10   # elongated blocks
  blobio amr convert --to cello --order hilbert Check-10 Check-H
  blobio amr convert --leaves --fields density,pressure Check-10 leaves.nc
  blobio amr convert --to yt Check-10 forYT`,
		Args: cli.ExactArgs(2, "a checkpoint, and the name of the output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.order, "order", "given", "cello: order of the blocks (given: as in the input)", "given", "morton", "hilbert", "roots")
	fl.BoolVar(&f.leaves, "leaves", false, "write only leaf blocks")
	fl.StringVar(&f.levels, "levels", "", "write only these levels: FIRST:LAST (either may be omitted), or one number")
	varsFlagAs(cmd, &f.fields, "fields", "write only these fields, such as density,pressure")
	fl.BoolVar(&f.bare, "no-ghosts", false, "omit ghost zones")
	fl.BoolVar(&f.grids, "grids", false, "netCDF: add each level as arrays on the uniform grid of the level")
	fl.BoolVar(&f.enzo, "for-enzo-e", false, "cello: reverse the dimensions of datasets, so that Enzo-E can restart from blocks of any shape")
	fl.BoolVar(&f.trust.scrambled, "accept-scrambled", false, "accept fields whose cells Enzo-E put in the wrong places")
	f.trust.add(cmd)
	cli.ChoiceFlag(cmd, &f.out.to, "to", formNetCDF, "form of the output: a checkpoint, one netCDF file, or a directory for yt", formCello, formNetCDF, formYT)
	fl.BoolVar(&f.out.force, "force", false, "replace an existing netCDF file")
	f.out.add(cmd)
	return cmd
}

func varsFlagAs(cmd *cobra.Command, p *[]string, name, usage string) {
	cmd.Flags().StringSliceVar(p, name, nil, usage)
}

// parseLevels parses FIRST:LAST.
func parseLevels(s string, lo, hi int) (*[2]int, error) {
	if s == "" {
		return nil, nil
	}
	out := [2]int{lo, hi}
	a, b, ok := strings.Cut(s, ":")
	if !ok {
		b = a
	}
	for i, word := range []string{a, b} {
		if word == "" && ok {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, cli.Usagef("--levels %q, want FIRST:LAST or one number", s)
		}
		out[i] = n
	}
	if out[0] > out[1] || out[0] > hi || out[1] < lo {
		return nil, cli.Usagef("--levels %q, want levels from %d to %d", s, lo, hi)
	}
	return &out, nil
}

func (f *amrConvertFlags) run(cmd *cobra.Command, e *cli.Env, in, out string) error {
	ctx := cmd.Context()
	if err := f.out.check(cmd, out); err != nil {
		return err
	}
	if f.enzo && (f.leaves || f.levels != "" || f.fields != nil || f.trust.scrambled) {
		return cli.Usagef("--for-enzo-e is not for a dump (--leaves, --levels, --fields), nor for scrambled cells")
	}
	m, err := openAmr(ctx, in, f.trust)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.hasFields(f.fields); err != nil {
		return err
	}
	m.warn(e, "the output", f.trust)
	lo, hi := m.Tree().Levels()
	levels, err := parseLevels(f.levels, lo, hi)
	if err != nil {
		return err
	}
	var order amr.Ordering
	if f.order != "given" {
		if order, err = amr.OrderingByName(f.order); err != nil {
			return err
		}
	}
	if f.out.to == formYT {
		return f.toYT(cmd, e, m, out)
	}
	start := time.Now()
	if f.out.to == formNetCDF {
		return f.toNetCDF(ctx, e, m, out, levels, start)
	}
	if err := f.toCello(ctx, e, m, out, order, levels); err != nil {
		return err
	}
	return f.out.report(ctx, e, out, time.Since(start))
}

func (f *amrConvertFlags) toCello(ctx context.Context, e *cli.Env, m *amrMesh, out string, order amr.Ordering, levels *[2]int) error {
	with, without := m.ghosts(f.fields)
	if with > 0 && without > 0 && !f.bare {
		return cli.WithHint(fmt.Errorf("%s: only some fields have ghost zones, want all or none", m.path), "--no-ghosts omits ghost zones")
	}
	c := f.out.celloOptions()
	c.Ghosts = with > 0 && !f.bare
	c.Fields, c.Levels, c.LeavesOnly, c.ForEnzoE = f.fields, levels, f.leaves, f.enzo
	if f.fields == nil && levels == nil && !f.leaves {
		if err := m.whole(); err != nil {
			return err
		}
		if m.Dump() && f.enzo {
			return fmt.Errorf("%s is a dump, and Enzo-E cannot restart from a converted dump", m.path)
		}
		if m.Dump() { // the output of a dump is a dump
			c.Fields = m.fieldNames()
		}
	}
	if c.EnzoFloat == 0 {
		c.EnzoFloat = m.EnzoFloat()
	}
	if c.Ordering = order; order == nil {
		c.Ordering = given(m.indexes())
	}
	return f.out.write(ctx, e, amrSource{"convert", m.Meta(), len(m.Blocks()), m.Share}, out, c)
}

// whole returns an error that lists the missing blocks that a restart needs, or nil.
func (m *amrMesh) whole() error {
	if m.Dump() {
		return nil
	}
	t := m.Tree()
	levels, first := t.Missing()
	if len(levels) == 0 {
		return nil
	}
	lo, hi := t.Levels()
	kind, flags := "only some of the blocks", fmt.Sprintf("--levels %d:%d", lo, hi)
	if !slices.ContainsFunc(m.Blocks(), func(b cello.BlockInfo) bool { return !b.Leaf }) {
		kind, flags = "only the leaf blocks", "--leaves"
	}
	var of []string
	n := int64(0)
	for _, l := range slices.Sorted(maps.Keys(levels)) {
		n += levels[l]
		of = append(of, fmt.Sprintf("%d of level %d", levels[l], l))
	}
	return cli.WithHint(fmt.Errorf("%s has %s, so no program can restart from it: %s missing (%s), such as %s", m.path, kind, cli.Plural(n, "block"), strings.Join(of, ", "), t.Name(first)),
		fmt.Sprintf("convert the complete checkpoint, or give %s to make a dump for analysis", flags))
}

// ghosts counts the fields with and without ghost zones.
func (m *amrMesh) ghosts(fields []string) (with, without int) {
	for i, name := range m.fieldNames() {
		switch {
		case fields != nil && !slices.Contains(fields, name):
		case m.Ghosts(i):
			with++
		default:
			without++
		}
	}
	return with, without
}

func (f *amrConvertFlags) toNetCDF(ctx context.Context, e *cli.Env, m *amrMesh, out string, levels *[2]int, start time.Time) error {
	blocks, leaves := 0, 0
	keep := func(x amr.Index, leaf bool) bool {
		l := x.Level()
		return (leaf || !f.leaves) && (levels == nil || l >= levels[0] && l <= levels[1])
	}
	for _, b := range m.Blocks() {
		if keep(b.Index, b.Leaf) {
			if blocks++; b.Leaf {
				leaves++
			}
		}
	}
	form, err := netcdf.New(ctx, m.Checkpoint, &netcdf.Part{Keep: keep, Fields: f.fields, Bare: f.bare, Grids: f.grids}, 0)
	if err != nil {
		return err
	}
	p := e.NewProgress()
	defer p.End()
	err = cli.WriteOutput(ctx, vfs.OS, out, durable.OutputOptions{Force: f.out.force, NoSync: f.out.noSync}, func(dst vfs.File) (bool, error) {
		return true, form.WriteTo(ctx, dst, f.out.workers, func(done, total int64) { p.At("convert", done, total) })
	})
	p.End()
	if errors.Is(err, blob.ErrExist) {
		return fmt.Errorf("the output %s %w", out, blob.ErrExist)
	}
	if err != nil {
		return err
	}
	return f.out.print(e, &amrWritten{Path: out, Form: formNetCDF, kind: "netCDF file", Blocks: blocks, Leaves: leaves, Files: 1, Bytes: form.Size()}, time.Since(start))
}

// toYT writes a directory for yt.
func (f *amrConvertFlags) toYT(cmd *cobra.Command, e *cli.Env, m *amrMesh, out string) error {
	ctx := cmd.Context()
	for _, name := range []string{"leaves", "levels", "no-ghosts"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s does not apply to --to yt", name)
		}
	}
	start := time.Now()
	if err := cello.WriteYT(ctx, m.Checkpoint, out, &cello.Options{Fields: f.fields, NoSync: f.out.celloOptions().NoSync}); err != nil {
		return err
	}
	base := filepath.Base(out)
	list, data := filepath.Join(out, base+".block_list"), filepath.Join(out, base+".h5")
	info, err := os.Stat(data)
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	if f.out.asJSON {
		return e.PrintJSON(map[string]any{"path": out, "form": formYT, "load": list, "files": 1, "bytes": info.Size(), "seconds": took,
			"mib_per_second": float64(info.Size()) / (1 << 20) / max(took, 1e-9)})
	}
	fmt.Fprintf(e.Out, "%s: %s in %.2f s; yt.load(%q)\n", out, cli.HumanBytes(info.Size()), took, list)
	return nil
}
