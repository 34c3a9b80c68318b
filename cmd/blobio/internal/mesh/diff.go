package mesh

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/amr/grids"
	"blobio/internal/cli"
)

type amrDiffFlags struct {
	cli.DiffFlags
	fields   []string
	abs, rel float64
	trust    amrTrust
}

func newAmrDiff(e *cli.Env) *cobra.Command {
	var f amrDiffFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the values of two meshes",
		Long: `Compare two meshes of one domain cell by cell. The order of the blocks and the division into
files may differ. The value at a position comes from the finest level that covers it. Where
one mesh is finer than the other, diff compares the mean of the finer cells with the coarser
cell. Such positions, and positions that only one mesh has, count as differences and are
reported separately. Particles are compared as rows in any order. NaN equals NaN.`,
		Example: `  blobio amr diff Check-10 Check-16           # verify a copy
  blobio amr diff --field density --rel 1e-6 run1/Check-10 run2/Check-10`,
		Args: cli.ExactArgs(2, "two meshes"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e, args[0], args[1]) },
	}
	fl := cmd.Flags()
	varsFlagAs(cmd, &f.fields, "field", "compare only these fields, without particles")
	fl.Float64Var(&f.abs, "abs", 0, "absolute tolerance of values")
	fl.Float64Var(&f.rel, "rel", 0, "relative tolerance of values, as a fraction of the larger magnitude")
	f.Add(cmd, "also print equal fields",
		diffJSON(&fieldMesh{}, &fieldMesh{}, &grids.Compared{Fields: make([]grids.Difference, 1), Levels: make([]grids.Refinement, 1), Particles: make([]grids.Rows, 1)}))
	f.trust.add(cmd)
	return cmd
}

func (f *amrDiffFlags) run(ctx context.Context, e *cli.Env, pathA, pathB string) error {
	if !(f.abs >= 0) || !(f.rel >= 0) {
		return cli.Usagef("--abs %g --rel %g, want numbers >= 0", f.abs, f.rel)
	}
	t := f.trust
	t.scrambled = true // compare scrambled fields as they are
	a, err := openFields(ctx, e, pathA, "the comparison", t)
	if err != nil {
		return err
	}
	defer a.close()
	b, err := openFields(ctx, e, pathB, "the comparison", t)
	if err != nil {
		return err
	}
	defer b.close()
	var names []string
	for _, n := range f.fields {
		if a.Field(n) < 0 && b.Field(n) < 0 {
			_, err := a.fields([]string{n})
			return err
		}
		names = append(names, n)
	}
	p := e.NewCount()
	defer p.End()
	c, err := grids.Diff(ctx, a.Mesh, b.Mesh, names, grids.Tolerance{Abs: f.abs, Rel: f.rel}, func(done, total int64) { p.At("diff", done, total) })
	if err != nil {
		return err
	}
	p.End()
	return f.Report(e, c.Equal(), diffJSON(a, b, c), func() { f.print(e, a, b, c) })
}

func diffJSON(a, b *fieldMesh, c *grids.Compared) map[string]any {
	fields, levels, particles := []map[string]any{}, []map[string]any{}, []map[string]any{}
	for i := range c.Fields {
		d := &c.Fields[i]
		x := map[string]any{"name": d.Name, "cells": d.Cells, "different": d.Differ, "missing_in_b": d.Missing, "refined_otherwise": d.Other, "largest": nil, "at": nil, "a": nil, "b": nil, "largest_there": nil}
		if d.Differ > 0 {
			x["largest"], x["at"], x["a"], x["b"] = cli.JSONFloat(d.Most), placeOf(a.Mesh, d.Where), cli.JSONFloat(d.A), cli.JSONFloat(d.B)
		}
		if d.Other > 0 {
			x["largest_there"] = cli.JSONFloat(d.OtherBy)
		}
		fields = append(fields, x)
	}
	for _, l := range c.Levels {
		levels = append(levels, map[string]any{"level": l.Level, "both": l.Both, "only_a": l.OnlyA, "only_b": l.OnlyB})
	}
	for _, p := range c.Particles {
		particles = append(particles, map[string]any{"name": p.Name, "a": p.A, "b": p.B, "only_a": p.OnlyA, "only_b": p.OnlyB})
	}
	return map[string]any{"version": 1, "a": a.path, "b": b.path, "equal": c.Equal(), "fields": fields, "levels": levels, "particles": particles,
		"only_a": append([]string{}, c.OnlyA...), "only_b": append([]string{}, c.OnlyB...)}
}

func (f *amrDiffFlags) print(e *cli.Env, a, b *fieldMesh, c *grids.Compared) {
	for _, x := range []struct {
		path string
		list []string
	}{{a.path, c.OnlyA}, {b.path, c.OnlyB}} {
		if len(x.list) > 0 {
			fmt.Fprintf(e.Out, "only in %s: %s\n", x.path, cli.Plain(strings.Join(x.list, ", ")))
		}
	}
	for i := range c.Fields {
		d := &c.Fields[i]
		if d.Differ > 0 {
			fmt.Fprintf(e.Out, "%s: %d of %d cells differ; the largest difference is %.6g: %.9g and %.9g at %s\n", cli.Plain(d.Name), d.Differ, d.Cells, d.Most, d.A, d.B, placeOf(a.Mesh, d.Where).text())
		}
		if d.Missing > 0 {
			fmt.Fprintf(e.Out, "%s: %d cells are only in %s\n", cli.Plain(d.Name), d.Missing, a.path)
		}
		if d.Other > 0 {
			fmt.Fprintf(e.Out, "%s: %d cells have a different refinement; their means differ by up to %.6g\n", cli.Plain(d.Name), d.Other, d.OtherBy)
		}
		if d.Differ+d.Missing+d.Other == 0 && f.All {
			fmt.Fprintf(e.Out, "%s: %d cells are equal\n", cli.Plain(d.Name), d.Cells)
		}
	}
	for _, p := range c.Particles {
		if p.OnlyA+p.OnlyB > 0 {
			fmt.Fprintf(e.Out, "particles %s: %d in the first and %d in the second; %d only in the first, %d only in the second\n", cli.Plain(p.Name), p.A, p.B, p.OnlyA, p.OnlyB)
		}
	}
	for _, l := range c.Levels {
		if l.OnlyA+l.OnlyB > 0 {
			fmt.Fprintf(e.Out, "level %d: %s in both, %d only in the first, %d only in the second\n", l.Level, cli.Plural(l.Both, "leaf block"), l.OnlyA, l.OnlyB)
		}
	}
	if c.Equal() {
		fmt.Fprintf(e.Out, "%s and %s are equal\n", a.path, b.path)
		return
	}
	fmt.Fprintf(e.Out, "%s and %s differ\n", a.path, b.path)
}
