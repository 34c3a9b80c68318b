package mesh

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/amr"
	"blobio/internal/cli"
)

type amrDumpFlags struct {
	field  string
	trust  amrTrust
	asJSON bool
}

func newAmrDump(e *cli.Env) *cobra.Command {
	var f amrDumpFlags
	cmd := &cobra.Command{
		Use:   "dump PATH BLOCK",
		Short: "Print the attributes, statistics or values of a block",
		Long: `Print one block: its position in the mesh, its attributes, and minimum, maximum and mean of
every field and particle attribute. Ghost cells are excluded; NaN are counted separately.
BLOCK is a name (B01:1_10:0) or the number of a block along the curve. If blocks of several
levels have the same name, append @LEVEL.

--field prints all values of a field, with one row along x on each line.

The block is compared with its checksums, if there are any. A damaged block is an error, unless
--no-verify is given.

JSON includes values only with --field.`,
		Example: `  blobio amr dump Check-10 0
  blobio amr dump Check-10 B01:1_10:0
  blobio amr dump Check-10 B__@-2
  blobio amr dump --field density Check-10 17`,
		Args: cli.ExactArgs(2, "a checkpoint, and a block"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.field, "field", "f", "", "print the values of this field")
	f.trust.add(cmd)
	fl.BoolVar(&f.trust.scrambled, "accept-scrambled", false, "accept fields whose cells Enzo-E put in the wrong places")
	cli.JSONFlag(cmd, &f.asJSON, amrDump{})
	return cmd
}

type (
	amrDump struct {
		Block     int            `json:"block"`
		Name      string         `json:"name"`
		Level     int            `json:"level"`
		Index     amr.Index      `json:"index"`
		Array     []int          `json:"array"`
		Leaf      bool           `json:"leaf"`
		Parent    string         `json:"parent,omitempty"`
		File      string         `json:"file"`
		Lower     []float64      `json:"lower"`
		Upper     []float64      `json:"upper"`
		Cycle     int32          `json:"cycle"`
		Time      float64        `json:"time"`
		Dt        float64        `json:"dt"`
		Cost      float64        `json:"cost"`
		Bytes     int64          `json:"bytes"`
		Attrs     map[string]any `json:"attributes"`
		Fields    []amrDumpField `json:"fields"`
		Particles []amrDumpParts `json:"particles"`
	}
	amrStats struct {
		Name   string        `json:"name"`
		Type   string        `json:"type"`
		Min    cli.JSONFloat `json:"min"`
		Max    cli.JSONFloat `json:"max"`
		Mean   cli.JSONFloat `json:"mean"`
		NaN    int           `json:"nan"`
		Values []any         `json:"values,omitempty"`
	}
	amrDumpField struct {
		amrStats
		Shape  []int `json:"shape"`
		Ghosts bool  `json:"ghosts"`
	}
	amrDumpParts struct {
		Name  string     `json:"name"`
		Count int        `json:"count"`
		Attrs []amrStats `json:"attributes"`
	}
)

func (f *amrDumpFlags) run(ctx context.Context, e *cli.Env, path, word string) error {
	m, err := openAmr(ctx, path, f.trust)
	if err != nil {
		return err
	}
	defer m.Close()
	if f.field != "" {
		if err := m.hasFields([]string{f.field}); err != nil {
			return err
		}
	}
	i, err := m.findBlock(word)
	if err != nil {
		return err
	}
	b, err := m.Block(ctx, i)
	if err != nil {
		return err
	}
	m.warn(e, "the printed block", f.trust)
	d := f.describe(m, i, b)
	if f.asJSON {
		return e.PrintJSON(d)
	}
	if f.field != "" {
		printField(e, m, b.Field(f.field))
		return nil
	}
	printBlock(e, d)
	return nil
}

func namesOf[T any](list []T, name func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

func (m *amrMesh) fieldNames() []string {
	return namesOf(m.Meta().Fields, func(f amr.FieldSpec) string { return f.Name })
}

// hasFields checks that the fields exist.
func (m *amrMesh) hasFields(names []string) error {
	for _, n := range names {
		if have := m.fieldNames(); !slices.Contains(have, n) {
			return cli.Usagef("%s has no field %q, the fields are %s", m.path, n, orNone(have))
		}
	}
	return nil
}

func (f *amrDumpFlags) describe(m *amrMesh, i int, b *amr.Block) *amrDump {
	g, info := &m.Meta().Geometry, &m.Blocks()[i]
	lo, hi := b.Index.Bounds(g)
	array := b.Index.Array()
	d := &amrDump{Block: i, Name: info.Name, Level: info.Level, Index: b.Index, Array: array[:g.Rank], Leaf: b.Leaf, File: m.Files()[info.File] + ".h5",
		Lower: lo[:g.Rank], Upper: hi[:g.Rank], Cycle: b.Cycle, Time: b.Time, Dt: b.Dt, Cost: b.Cost, Bytes: info.Bytes, Attrs: map[string]any{},
		Fields: []amrDumpField{}, Particles: []amrDumpParts{}}
	if d.Level > g.MinLevel {
		d.Parent = b.Index.Parent().Name(g.Rank, g.Roots)
	}
	for k, v := range b.Attrs {
		d.Attrs[k] = safeJSON(v)
	}
	if b.Adapt != nil {
		d.Attrs["adapt_buffer"] = fmt.Sprintf("%d bytes", len(b.Adapt))
	}
	for k := range b.Fields {
		x := &b.Fields[k]
		shape := g.Shape(x.Spec, x.Ghosts)
		inner := x.Data
		if x.Ghosts {
			inner = make([]byte, g.FieldBytes(x.Spec, false))
			g.Strip(inner, x.Data, x.Spec)
		}
		df := amrDumpField{amrStats: stats(x.Spec.Name, x.Spec.Type, inner), Ghosts: x.Ghosts}
		if f.field == x.Spec.Name {
			df.keep(x.Spec.Type, x.Data)
		}
		for a := g.Rank - 1; a >= 0; a-- {
			df.Shape = append(df.Shape, shape[a])
		}
		d.Fields = append(d.Fields, df)
	}
	for k := range b.Particles {
		p := &b.Particles[k]
		dp := amrDumpParts{Name: p.Spec.Name, Count: p.N, Attrs: []amrStats{}}
		for j, a := range p.Spec.Attrs {
			dp.Attrs = append(dp.Attrs, stats(a.Name, a.Type, p.Data[j]))
		}
		d.Particles = append(d.Particles, dp)
	}
	return d
}

func printBlock(e *cli.Env, d *amrDump) {
	kind := "refined"
	if d.Leaf {
		kind = "leaf"
	}
	fmt.Fprintf(e.Out, "block %d: %s, level %d, %s, in %s\n", d.Block, d.Name, d.Level, kind, d.File)
	fmt.Fprintf(e.Out, "index: %d %d %d, array %s\n", d.Index[0], d.Index[1], d.Index[2], strings.Trim(fmt.Sprint(d.Array), "[]"))
	if d.Parent != "" {
		fmt.Fprintf(e.Out, "parent: %s\n", d.Parent)
	}
	for a := range d.Lower {
		fmt.Fprintf(e.Out, "%c: %.9g to %.9g\n", 'x'+rune(a), d.Lower[a], d.Upper[a])
	}
	fmt.Fprintf(e.Out, "cycle %d, time %.9g, dt %.9g", d.Cycle, d.Time, d.Dt)
	if d.Cost != 0 {
		fmt.Fprintf(e.Out, ", cost %.6g", d.Cost)
	}
	fmt.Fprintln(e.Out)
	for _, k := range slices.Sorted(maps.Keys(d.Attrs)) {
		fmt.Fprintf(e.Out, "%s: %s\n", k, strings.Trim(fmt.Sprint(d.Attrs[k]), "[]"))
	}
	if len(d.Fields) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", "FIELD", "TYPE", "SHAPE", ">MIN", ">MAX", ">MEAN", ">NAN")
		for _, f := range d.Fields {
			shape := times(f.Shape)
			if f.Ghosts {
				shape += " with ghosts"
			}
			t.Row(f.Name, f.Type, shape, figure(f.Min), figure(f.Max), figure(f.Mean), f.NaN)
		}
		t.Flush()
	}
	if len(d.Particles) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", "PARTICLES", "ATTRIBUTE", "TYPE", ">COUNT", ">MIN", ">MAX", ">MEAN", ">NAN")
		for _, p := range d.Particles {
			for _, a := range p.Attrs {
				t.Row(p.Name, a.Name, a.Type, p.Count, figure(a.Min), figure(a.Max), figure(a.Mean), a.NaN)
			}
		}
		t.Flush()
	}
}

// printField prints a field in rows along x, with a gap between planes.
func printField(e *cli.Env, m *amrMesh, f *amr.Field) {
	shape := m.Meta().Shape(f.Spec, f.Ghosts)
	values := numbers(f.Spec.Type, f.Data)
	for i := 0; i < len(values); i += shape[0] {
		if row := i / shape[0]; shape[2] > 1 && row%shape[1] == 0 {
			if row > 0 {
				fmt.Fprintln(e.Out)
			}
			fmt.Fprintf(e.Out, "z %d\n", row/shape[1])
		}
		s := make([]string, shape[0])
		for k := range s {
			s[k] = fmt.Sprint(values[i+k])
		}
		fmt.Fprintln(e.Out, strings.Join(s, " "))
	}
}
