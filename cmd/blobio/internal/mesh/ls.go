package mesh

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/decomps"
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
	"blobio/internal/cli"
)

type amrLsFlags struct {
	blocks, asJSON bool
	ranks          []int
	trust          amrTrust
	stats          amrStatsFlags
}

func newAmrLs(e *cli.Env) *cobra.Command {
	var f amrLsFlags
	cmd := &cobra.Command{
		Use:   "ls PATH...",
		Short: "Show levels, blocks, files and balance of a checkpoint",
		Long: `Show geometry, fields and particles of a checkpoint, a line for each level and each file, and
the balance of the files. Only lists and headers are read.

--ranks N shows the balance of a restart on N ranks. Each rank gets one part of the curve
through the blocks. ls shows three distributions: equal numbers of blocks, equal bytes, and equal
stored cost. Efficiency is mean over maximum; 1 is perfect. Surface is the share of faces
between leaf blocks that are also boundaries between ranks.

` + statsHelp + `

In JSON, shape lists the slowest dimension first. blocks is present only with --blocks. With --stats:
meshes: [{path, form, time, fields: [{name, type, unit, cells, volume, total, mean, std, min,
max, min_at, max_at, nan, inf, levels: [the same, with level]}]}]; min_at and max_at are
{position, level, block}.`,
		Example: `  blobio amr ls Check-10
  blobio amr ls --ranks 8,64 Check-10     # balance of a restart
  blobio amr ls --blocks Check-10         # every block
  blobio amr ls --stats --field density,pressure --by-level Check-10
  blobio amr ls --json Check-10 | jq '.meshes[].levels[]'`,
		Args: cli.MinArgs(1, "a checkpoint directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.blocks, "blocks", "b", false, "list every block")
	f.trust.add(cmd)
	fl.BoolVar(&f.trust.scrambled, "accept-scrambled", false, "--stats: accept fields whose cells Enzo-E put in the wrong places")
	f.stats.add(cmd)
	fl.IntSliceVar(&f.ranks, "ranks", nil, "show the balance on these numbers of ranks, such as 8,64")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"meshes": []*amrDesc{}})
	return cmd
}

// The JSON output types that describe a mesh.
type (
	amrDesc struct {
		Path      string         `json:"path"`
		Form      string         `json:"form"`
		Rank      int            `json:"rank"`
		Roots     []int          `json:"root_blocks"`
		Cells     []int          `json:"block_cells"`
		Ghost     []int          `json:"ghost_cells"`
		Periodic  []bool         `json:"periodic"`
		Lower     []float64      `json:"lower"`
		Upper     []float64      `json:"upper"`
		MinLevel  int            `json:"min_level"`
		MaxLevel  int            `json:"max_level"`
		Cycle     int32          `json:"cycle"`
		Time      float64        `json:"time"`
		Dt        float64        `json:"dt"`
		Order     string         `json:"order"`
		Bytes     int64          `json:"bytes"`
		Fields    []amrField     `json:"fields"`
		Particles []amrParticles `json:"particles"`
		Levels    []amrLevel     `json:"levels"`
		Files     []amrFileDesc  `json:"files"`
		Balance   amrBalance     `json:"balance"`
		Plans     []amrPlan      `json:"plans,omitempty"`
		Blocks    []amrBlockDesc `json:"blocks,omitempty"`
		count     int
		leaves    int
	}
	amrField struct {
		Name   string `json:"name"`
		Type   string `json:"type"`
		Shape  []int  `json:"shape"`
		Ghosts bool   `json:"ghosts"`
		// Scrambled: the cells are in wrong positions, see amr.FieldSpec.
		Scrambled bool `json:"scrambled,omitempty"`
	}
	amrParticles struct {
		Name  string   `json:"name"`
		Count int64    `json:"count"` // in leaf blocks
		Attrs []string `json:"attributes"`
	}
	amrFileDesc struct {
		Name   string  `json:"name"`
		Bytes  int64   `json:"bytes"` // size of the file
		Blocks int     `json:"blocks"`
		Leaves int     `json:"leaves"`
		Data   int64   `json:"data"`
		Cost   float64 `json:"cost"`
	}
	amrBlockDesc struct {
		Block int     `json:"block"`
		Name  string  `json:"name"`
		Level int     `json:"level"`
		File  string  `json:"file"`
		Leaf  bool    `json:"leaf"`
		Bytes int64   `json:"bytes"`
		Cost  float64 `json:"cost"`
	}
)

func (f *amrLsFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	if err := f.stats.check(cmd); err != nil {
		return err
	}
	for _, n := range f.ranks {
		if n < 1 {
			return cli.Usagef("--ranks %d, want a positive number", n)
		}
		if err := decomps.CheckRanks(n); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	if f.stats.on {
		return cli.List(cmd, e, paths, f.asJSON, "meshes",
			func(path string) (*amrMeshFigures, error) { return f.stats.one(ctx, e, path, f.trust) },
			func(d *amrMeshFigures) { f.stats.print(e, d) })
	}
	return cli.List(cmd, e, paths, f.asJSON, "meshes",
		func(path string) (*amrDesc, error) { return f.one(ctx, path) },
		func(d *amrDesc) { printMesh(e, d) })
}

func (f *amrLsFlags) one(ctx context.Context, path string) (*amrDesc, error) {
	m, err := openAmr(ctx, path, f.trust)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	d, err := describeMesh(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, n := range f.ranks {
		p, err := m.plans(n)
		if err != nil {
			return nil, err
		}
		d.Plans = append(d.Plans, p...)
	}
	if f.blocks {
		for i, b := range m.Blocks() {
			d.Blocks = append(d.Blocks, amrBlockDesc{i, b.Name, b.Level, d.Files[b.File].Name, b.Leaf, b.Bytes, b.Cost})
		}
	}
	return d, ctx.Err()
}

// describeMesh describes a mesh by its tables.
func describeMesh(ctx context.Context, m *amrMesh) (*amrDesc, error) {
	meta := m.Meta()
	g := &meta.Geometry
	d := &amrDesc{Path: m.path, Form: formCello, Rank: g.Rank, Roots: g.Roots[:g.Rank], Cells: g.Block[:g.Rank], Ghost: g.Ghost[:g.Rank],
		Periodic: g.Periodic[:g.Rank], Lower: g.Lower[:g.Rank], Upper: g.Upper[:g.Rank], MinLevel: g.MinLevel, MaxLevel: g.MaxLevel,
		Cycle: meta.Cycle, Time: meta.Time, Dt: meta.Dt, Order: m.order(), Fields: []amrField{}, Particles: []amrParticles{}, count: len(m.Blocks())}
	names, bytes := m.files()
	for i, name := range names {
		d.Bytes += bytes[i]
		d.Files = append(d.Files, amrFileDesc{Name: name, Bytes: bytes[i]})
	}
	if err := d.describeData(ctx, m); err != nil {
		return nil, err
	}
	d.Levels = m.levels()
	for _, b := range m.Blocks() {
		f := &d.Files[b.File]
		f.Blocks++
		f.Data += b.Bytes
		f.Cost += b.Cost
		if b.Leaf {
			d.leaves++
			f.Leaves++
		}
	}
	w := make([]float64, len(d.Files))
	owner := make([]int, len(d.Files))
	for i := range d.Files {
		w[i], owner[i] = float64(d.Files[i].Data), i
	}
	d.Balance = balanceOf(sfc.Measure(w, owner, len(w)))
	return d, nil
}

// describeData describes fields and particles. It counts particles only in leaf blocks, because refined blocks have copies or
// leftovers.
func (d *amrDesc) describeData(ctx context.Context, m *amrMesh) error {
	meta := m.Meta()
	counts := make([]int64, len(meta.Particles))
	for i := range m.Blocks() {
		if len(counts) == 0 {
			break
		}
		b, err := m.Head(ctx, i)
		if err != nil {
			return err
		}
		for k := range b.Particles { // in the order of the mesh's types
			if b.Leaf {
				counts[k] += int64(b.Particles[k].N)
			}
		}
	}
	for i := range meta.Fields {
		f := &meta.Fields[i]
		x := amrField{f.Name, f.Type.String(), []int{}, m.Ghosts(i), f.Scrambled}
		shape := meta.Shape(f, x.Ghosts)
		for a := meta.Rank - 1; a >= 0; a-- {
			x.Shape = append(x.Shape, shape[a])
		}
		d.Fields = append(d.Fields, x)
	}
	for i, p := range meta.Particles {
		x := amrParticles{Name: p.Name, Count: counts[i], Attrs: namesOf(p.Attrs, func(a amr.AttrSpec) string { return a.Name })}
		d.Particles = append(d.Particles, x)
	}
	return nil
}

// times formats lengths as 4 × 4 × 2.
func times(n []int) string {
	s := make([]string, len(n))
	for i, v := range n {
		s[i] = fmt.Sprint(v)
	}
	return strings.Join(s, " × ")
}

func printMesh(e *cli.Env, d *amrDesc) {
	fmt.Fprintf(e.Out, "%s: Cello checkpoint, %d-D, %s (%d leaves), %s, %s\n", d.Path, d.Rank, cli.Plural(d.count, "block"), d.leaves, cli.Plural(len(d.Files), "file"), cli.HumanBytes(d.Bytes))
	fmt.Fprintf(e.Out, "cycle %d, time %.6g, dt %.6g\n", d.Cycle, d.Time, d.Dt)
	ghosts := ""
	for _, g := range d.Ghost {
		if g > 0 {
			ghosts = ", ghost zones " + times(d.Ghost)
			break
		}
	}
	fmt.Fprintf(e.Out, "mesh: %s root blocks of %s cells%s\n", times(d.Roots), times(d.Cells), ghosts)
	var axes []string
	for a := range d.Rank {
		s := fmt.Sprintf("%c %.6g to %.6g", 'x'+rune(a), d.Lower[a], d.Upper[a])
		if d.Periodic[a] {
			s += " (periodic)"
		}
		axes = append(axes, s)
	}
	fmt.Fprintf(e.Out, "domain: %s\n", strings.Join(axes, ", "))
	order := d.Order
	if order == "other" {
		order = "unknown curve"
	}
	fmt.Fprintf(e.Out, "order: %s\n", order)
	var fields []string
	for _, f := range d.Fields {
		s := f.Name + " " + f.Type
		if f.Ghosts {
			s += " with ghosts"
		}
		if f.Scrambled {
			s += " scrambled"
		}
		fields = append(fields, s)
	}
	fmt.Fprintf(e.Out, "fields: %s\n", orNone(fields))
	for _, p := range d.Particles {
		fmt.Fprintf(e.Out, "particles: %d %s (%s)\n", p.Count, p.Name, orNone(p.Attrs))
	}
	fmt.Fprintln(e.Out)
	t := e.NewTable("", ">LEVEL", ">BLOCKS", ">LEAVES", ">CELLS", ">OF THE DOMAIN", ">DATA")
	for _, l := range d.Levels {
		t.Row(l.Level, l.Blocks, l.Leaves, l.Cells, fmt.Sprintf("%.1f %%", 100*l.Share), cli.HumanBytes(l.Bytes))
	}
	t.Flush()
	printMeshFiles(e, d)
	if len(d.Plans) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", ">RANKS", "BALANCED BY", ">MOST", ">MEAN", ">EFFICIENCY", ">SURFACE")
		for _, p := range d.Plans {
			most, mean := fmt.Sprintf("%.6g", p.Most), fmt.Sprintf("%.6g", p.Mean)
			if p.By == "bytes" {
				most, mean = cli.HumanBytes(int64(p.Most)), cli.HumanBytes(int64(p.Mean))
			}
			t.Row(p.Ranks, p.By, most, mean, fmt.Sprintf("%.3f", p.Efficiency), fmt.Sprintf("%.1f %%", 100*p.Surface))
		}
		t.Flush()
	}
	if len(d.Blocks) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", ">BLOCK", "NAME", ">LEVEL", "FILE", "LEAF", ">DATA", ">COST")
		for _, b := range d.Blocks {
			t.Row(b.Block, b.Name, b.Level, b.File, map[bool]string{true: "yes", false: "-"}[b.Leaf], cli.HumanBytes(b.Bytes), fmt.Sprintf("%.6g", b.Cost))
		}
		t.Flush()
	}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// printMeshFiles prints a line for each file, or only the balance of many files.
func printMeshFiles(e *cli.Env, d *amrDesc) {
	const most = 64
	if len(d.Files) <= most {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", "FILE", ">BLOCKS", ">LEAVES", ">DATA", ">COST", ">SIZE")
		for _, f := range d.Files {
			cost := "-"
			if f.Cost > 0 {
				cost = fmt.Sprintf("%.6g", f.Cost)
			}
			t.Row(f.Name, f.Blocks, f.Leaves, cli.HumanBytes(f.Data), cost, cli.HumanBytes(f.Bytes))
		}
		t.Flush()
	}
	if len(d.Files) > 1 {
		fmt.Fprintf(e.Out, "\nfiles: at most %s of data, mean %s, efficiency %.3f\n", cli.HumanBytes(int64(d.Balance.Most)), cli.HumanBytes(int64(d.Balance.Mean)), d.Balance.Efficiency)
	}
}
