package mesh

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"blobio/cdf5"
	"blobio/internal/amr/grids"
	"blobio/internal/amr/netcdf"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

type amrExtractFlags struct {
	level    int
	hasLevel bool
	region   string
	fields   []string
	force    bool
	asJSON   bool
	trust    amrTrust
}

func newAmrExtract(e *cli.Env) *cobra.Command {
	var f amrExtractFlags
	cmd := &cobra.Command{
		Use:   "extract PATH OUT",
		Short: "Write a level or a region as a uniform netCDF array",
		Long: `Write fields of a mesh as uniform arrays to a CDF-5 file. The file has the arrays FIELD(z,
y, x), the cell centres x, y and z, and the array level. level is the refinement level of
each value, or -1 where there is no value. --level selects the level with the cell size of
the arrays (default: the finest). Each value comes from the finest level at its position.
Coarser cells are repeated, and finer cells are averaged. --region is LO:HI for each axis;
all cells that the region touches are written.

JSON: {path, bytes, level, shape, lower, upper, fields}.`,
		Example: `  blobio amr extract --field density --level 2 Check-10 density.nc
  blobio amr extract --region 0.2:0.4,:0.5,: Check-05 part.nc`,
		Args: cli.ExactArgs(2, "a checkpoint, and the name of the output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasLevel = cmd.Flags().Changed("level")
			return f.run(cmd.Context(), e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.level, "level", 0, "refinement level that sets the cell size (default: the finest)")
	fl.StringVar(&f.region, "region", "", "write only this region: LO:HI for each axis, such as 0.2:0.4,:0.5,:")
	varsFlagAs(cmd, &f.fields, "field", "write only these fields, such as density,pressure")
	fl.BoolVar(&f.force, "force", false, "replace an existing output")
	f.trust.add(cmd)
	fl.BoolVar(&f.trust.scrambled, "accept-scrambled", false, "accept fields whose cells Enzo-E put in the wrong places")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *amrExtractFlags) run(ctx context.Context, e *cli.Env, path, out string) error {
	if err := durable.Free(vfs.OS, out, f.force); err != nil {
		return err
	}
	m, err := openFields(ctx, e, path, "the output", f.trust)
	if err != nil {
		return err
	}
	defer m.close()
	lo, hi, err := m.region(f.region)
	if err != nil {
		return err
	}
	list, err := m.fields(f.fields)
	if err != nil {
		return err
	}
	if !f.hasLevel {
		f.level = m.Finest()
	}
	if f.level < 0 || f.level >= len(m.Levels) {
		return cli.Usagef("--level %d, want 0 to %d", f.level, m.Finest())
	}
	region := m.Region(f.level, lo, hi)
	x := &uniform{m: m, level: f.level, region: region, fields: list}
	if err := x.layout(); err != nil {
		return err
	}
	p := e.NewProgress()
	defer p.End()
	err = cli.WriteOutput(ctx, vfs.OS, out, durable.OutputOptions{Force: f.force}, func(dst vfs.File) (bool, error) {
		return true, x.write(ctx, dst, func(done, total int64) { p.At("extract", done, total) })
	})
	p.End()
	if err != nil {
		return err
	}
	a, b := m.Edges(f.level, region)
	var shape []int
	n := region.Len()
	for k := m.Rank - 1; k >= 0; k-- {
		shape = append(shape, n[k])
	}
	if f.asJSON {
		names := []string{}
		for _, i := range list {
			names = append(names, m.Fields[i].Name)
		}
		return e.PrintJSON(map[string]any{"path": out, "bytes": x.size, "level": f.level, "shape": shape, "lower": a[:m.Rank], "upper": b[:m.Rank], "fields": names})
	}
	fmt.Fprintf(e.Out, "%s: %s of %s cells of level %d, %s\n", out, cli.Plural(len(list), "field"), times(shape), f.level, cli.HumanBytes(x.size))
	return nil
}

// uniform is a file of arrays with one cell size.
type uniform struct {
	m      *fieldMesh
	level  int
	region grids.Span
	fields []int
	h      *cdf5.Header
	size   int64
}

// layout makes the header: the dimensions, the cell centres, level, and the fields.
func (x *uniform) layout() error {
	m := x.m
	lo, hi := m.Edges(x.level, x.region)
	text := func(name, v string) cdf5.Att { return cdf5.Att{Name: name, Type: cdf5.Char, Value: v} }
	h := &cdf5.Header{Version: cdf5.CDF5, Atts: []cdf5.Att{text("title", "cells of level "+strconv.Itoa(x.level)+" of "+filepath.Base(m.path)),
		{Name: "time", Type: cdf5.Double, Value: []float64{m.Time}}, {Name: "refinement_level", Type: cdf5.Int, Value: []int32{int32(x.level)}},
		{Name: "lower", Type: cdf5.Double, Value: append([]float64{}, lo[:m.Rank]...)}, {Name: "upper", Type: cdf5.Double, Value: append([]float64{}, hi[:m.Rank]...)}}}
	n := x.region.Len()
	var dims []int
	for k := m.Rank - 1; k >= 0; k-- {
		dims = append(dims, len(h.Dims))
		h.Dims = append(h.Dims, cdf5.Dim{Name: "xyz"[k : k+1], Len: int64(n[k])})
	}
	for k := m.Rank - 1; k >= 0; k-- {
		h.Vars = append(h.Vars, cdf5.Var{Name: "xyz"[k : k+1], Type: cdf5.Double, Dims: dims[m.Rank-1-k : m.Rank-k], Atts: []cdf5.Att{text("long_name", "centres of the cells along "+"xyz"[k:k+1])}})
	}
	h.Vars = append(h.Vars, cdf5.Var{Name: "level", Type: cdf5.Byte, Dims: dims, Atts: []cdf5.Att{text("long_name", "refinement level of the values, for means the finest level; -1: no value")}})
	for _, i := range x.fields {
		f := &m.Fields[i]
		v := cdf5.Var{Name: f.Name, Type: cdf5.Double, Dims: dims, Atts: []cdf5.Att{text("units", netcdf.CodeUnits)}}
		if f.Type == "float32" {
			v.Type = cdf5.Float
		}
		if h.VarIndex(f.Name) >= 0 {
			v.Name = "field_" + f.Name
		}
		h.Vars = append(h.Vars, v)
	}
	x.h = h
	if err := h.Layout(nil); err != nil {
		return err
	}
	x.size = h.FileSize(0)
	return nil
}

// slabBytes is the approximate size of the part of an array computed at once.
const slabBytes = 128 << 20

func (x *uniform) write(ctx context.Context, dst vfs.File, progress func(done, total int64)) error {
	if err := dst.Allocate(0, x.size); err != nil {
		return err
	}
	if err := dst.Truncate(x.size); err != nil {
		return err
	}
	head, err := x.h.AppendTo(nil, nil, false)
	if err != nil {
		return err
	}
	if _, err := dst.WriteAt(head, 0); err != nil {
		return err
	}
	m := x.m
	for k := range m.Rank {
		var at []float64
		for i := x.region.Lo[k]; i < x.region.Hi[k]; i++ {
			at = append(at, m.Centre(x.level, [3]int{i, i, i})[k])
		}
		if err := x.put(dst, x.h.VarIndex("xyz"[k:k+1]), 0, at); err != nil {
			return err
		}
	}
	slow, n := m.Rank-1, x.region.Len()
	plane := x.region.Cells() / int64(n[slow])
	step := int(max(slabBytes/8/plane, 1))
	first := m.Rank + 1
	for lo := x.region.Lo[slow]; lo < x.region.Hi[slow]; lo += step {
		part := x.region
		part.Lo[slow], part.Hi[slow] = lo, min(lo+step, x.region.Hi[slow])
		at := int64(lo-x.region.Lo[slow]) * plane
		for k, i := range x.fields {
			f, err := m.Fill(ctx, i, x.level, part)
			if err != nil {
				return err
			}
			if k == 0 {
				if err := x.put(dst, m.Rank, at, f.From); err != nil {
					return err
				}
			}
			if err := x.put(dst, first+k, at, f.Values); err != nil {
				return err
			}
			progress((at+part.Cells())*8*int64(k+1), plane*int64(n[slow])*8*int64(len(x.fields)))
		}
	}
	return nil
}

// put writes elements of a variable, starting at index at.
func (x *uniform) put(dst vfs.File, v int, at int64, values any) error {
	t := x.h.Vars[v].Type
	n, _, _ := cdf5.SliceLen(values)
	b := make([]byte, n*t.Size())
	if f, ok := values.([]float64); ok && t == cdf5.Float { // an overflow becomes an infinity, as in the field itself
		small := make([]float32, n)
		for i, v := range f {
			small[i] = float32(v)
		}
		values = small
	}
	if err := cdf5.ToFile(b, true, t, values); err != nil {
		return err
	}
	off, _ := x.h.Extent(v, 0)
	_, err := dst.WriteAt(b, off+at*int64(t.Size()))
	return err
}
