package mesh

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/amr/cello"
	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/cli"
)

type amrGenFlags struct {
	rank, roots, cells, ghost, levels int
	fields                            int
	double                            bool
	particles                         int
	at                                float64
	periodic                          string
	ghosts                            bool
	out                               amrOutput
}

func newAmrGen(e *cli.Env) *cobra.Command {
	var f amrGenFlags
	cmd := &cobra.Command{
		Use:   "gen uniform|shock OUT",
		Short: "Generate a checkpoint of a mesh",
		Long: `Generate a checkpoint of a mesh, for tests or to measure a file system.

  uniform   all leaf blocks are of the finest level
  shock     refined along a shell that has moved away from a corner (--at, 0 to 1)

Values are a function of field and position, and all cells differ. The output is a Cello
checkpoint directory. Enzo-E can restart from it if the parameter file has the same mesh,
fields and boundaries. If the parameter file has periodic boundaries but the mesh does not
(--periodic), Enzo-E hangs. There are blocks above the root blocks only if --roots is a power
of two; otherwise their names would be ambiguous.

JSON: {path, form, blocks, leaves, files, bytes, seconds, mib_per_second}.`,
		Example: `  blobio amr gen shock Check-00                          # 2-D, 4 x 4 root blocks, levels -2 to 2
  blobio amr gen shock --rank 3 --periodic all --files 4 Check-3d
  blobio amr gen uniform --rank 3 --roots 16 --levels 0 --files 16 big`,
		Args:      cli.ExactArgs(2, "a kind of mesh (uniform, shock) and the name of the output"),
		ValidArgs: []string{"uniform", "shock"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.rank, "rank", 2, "number of dimensions, 1 to 3")
	fl.IntVar(&f.roots, "roots", 4, "number of root blocks along each axis")
	fl.IntVar(&f.cells, "cells", 16, "number of cells of a block along each axis")
	fl.IntVar(&f.ghost, "ghost-cells", 4, "width of the ghost zones, which are stored only with --ghosts")
	fl.IntVar(&f.levels, "levels", 2, "finest level")
	fl.IntVar(&f.fields, "fields", 4, "number of fields")
	fl.BoolVar(&f.double, "double", false, "store 64-bit fields (default: 32-bit)")
	fl.IntVar(&f.particles, "particles", 0, "maximum number of particles of each type in a leaf block")
	fl.Float64Var(&f.at, "at", 0.5, "shock: position of the shell, 0 to 1")
	fl.StringVar(&f.periodic, "periodic", "", "periodic axes: all, or letters such as xy (as Boundary in the parameter file)")
	fl.BoolVar(&f.ghosts, "ghosts", false, "store fields with ghost zones")
	f.out.to = formCello
	f.out.add(cmd)
	return cmd
}

func (f *amrGenFlags) run(cmd *cobra.Command, e *cli.Env, kind, out string) error {
	if cmd.Flags().Changed("at") && kind != "shock" {
		return cli.Usagef("--at applies only to shock")
	}
	switch {
	case f.rank < 1 || f.rank > 3:
		return cli.Usagef("--rank %d, want 1 to 3", f.rank)
	case f.roots < 1 || f.roots > amr.MaxRoots:
		return cli.Usagef("--roots %d, want 1 to %d", f.roots, amr.MaxRoots)
	case f.cells < 1 || f.cells > 1<<16 || f.ghost < 0 || f.ghost > 1<<10:
		return cli.Usagef("--cells %d --ghost-cells %d, want 1 to 65536 and 0 to 1024", f.cells, f.ghost)
	case f.levels < 0 || f.levels > amr.MaxDepth:
		return cli.Usagef("--levels %d, want 0 to %d", f.levels, amr.MaxDepth)
	case f.fields < 0 || f.fields > 1000 || f.particles < 0 || f.particles > 1<<20:
		return cli.Usagef("--fields %d --particles %d, want 0 to 1000 and 0 to 2^20", f.fields, f.particles)
	case !(f.at >= 0 && f.at <= 1):
		return cli.Usagef("--at %v, want 0 to 1", f.at)
	}
	if axes := "xyz"[:f.rank]; f.periodic != "all" && strings.Trim(f.periodic, axes) != "" {
		return cli.Usagef("--periodic %q, want all, or some of the axes %s", f.periodic, axes)
	}
	if err := f.out.check(cmd, out); err != nil {
		return err
	}
	if leaves := math.Pow(float64(f.roots)*math.Pow(2, float64(f.levels)), float64(f.rank)); kind == "uniform" && leaves > 1<<26 {
		return cli.Usagef("%g leaf blocks, want at most 2^26", leaves)
	}
	set, err := f.set(kind)
	if err != nil {
		return err
	}
	order := set.Tree.Sorted()
	c := f.out.celloOptions()
	c.Ghosts = f.ghosts
	share := func(rank, ranks int) cello.Source {
		return &setSource{set, order[len(order)*rank/ranks : len(order)*(rank+1)/ranks]}
	}
	start := time.Now()
	if err := f.out.write(cmd.Context(), e, amrSource{"gen", set.Meta, len(order), share}, out, c); err != nil {
		return err
	}
	return f.out.report(cmd.Context(), e, out, time.Since(start))
}

// set makes the mesh.
func (f *amrGenFlags) set(kind string) (*gen.Set, error) {
	g := gen.Geometry(f.rank, f.roots, f.cells, f.ghost, f.levels)
	if f.roots&(f.roots-1) != 0 {
		g.MinLevel = 0 // the format has no names for coarser blocks
	}
	for a := range f.rank {
		g.Periodic[a] = f.periodic == "all" || strings.Contains(f.periodic, "xyz"[a:a+1])
	}
	var tree *amr.Tree
	var err error
	switch kind {
	case "uniform":
		tree, err = gen.Uniform(&g, f.levels)
	case "shock":
		tree, err = gen.Shock(&g, f.at)
	default:
		return nil, cli.Usagef("mesh %q, want uniform or shock", kind)
	}
	if err != nil {
		return nil, err
	}
	t := amr.Float32
	if f.double {
		t = amr.Float64
	}
	var particles []amr.ParticleSpec
	if f.particles > 0 {
		particles = gen.Tracers(f.rank)
	}
	set := gen.NewSet(tree, 1, gen.Fields(f.fields, t), particles)
	set.Particles, set.Ghosts = f.particles, f.ghosts
	return set, nil
}

// setSource provides the blocks of a generated mesh.
type setSource struct {
	set   *gen.Set
	order []amr.Index
}

func (s *setSource) Len() int { return len(s.order) }

func (s *setSource) Head(ctx context.Context, i int) (*amr.Block, error) {
	if len(s.set.Meta.Particles) > 0 { // the data determine the number of particles
		return s.Block(ctx, i)
	}
	b := s.set.Head(s.order[i])
	for i := range s.set.Meta.Fields {
		b.Fields = append(b.Fields, amr.Field{Spec: &s.set.Meta.Fields[i], Ghosts: s.set.Ghosts})
	}
	return b, nil
}

func (s *setSource) Block(_ context.Context, i int) (*amr.Block, error) {
	return s.set.Block(s.order[i]), nil
}
