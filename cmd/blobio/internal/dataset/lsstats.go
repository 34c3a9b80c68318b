package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/view/cf"
	"blobio/internal/view/stats"
)

// statsFlags are the flags of ls that read data.
type statsFlags struct {
	partFlags
	source   sourceFlags
	on       bool
	byRecord bool
}

func (f *statsFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "stats", false, "print minimum, maximum and mean, and count values, fill values and NaN")
	fl.BoolVar(&f.byRecord, "by-record", false, "--stats: print the statistics of each record, too (always in JSON)")
	f.partFlags.add(cmd, "--stats, --follow: only these variables, such as T,PS")
	f.source.add(cmd)
}

// check returns an error for flags that require --stats.
func (f *statsFlags) check(cmd *cobra.Command) error {
	if f.on {
		return cli.NotGiven(cmd, "and --stats cannot be combined", "long")
	}
	return cli.NotGiven(cmd, "needs --stats", "by-record", "vars", "dimension", "allow-missing", "memory", "no-verify", "workers")
}

func (f *statsFlags) run(cmd *cobra.Command, e *cli.Env, paths []string, asJSON bool) error {
	return cli.List(cmd, e, paths, asJSON, "datasets",
		func(path string) (*statsDesc, error) { return f.one(cmd.Context(), e, path) },
		func(d *statsDesc) { d.print(e, f.byRecord) })
}

// The JSON output types for the statistics of a dataset.
type (
	statsDesc struct {
		Path string     `json:"path"`
		Vars []varStats `json:"variables"`

		summary string
		vars    []blob.Variable
		rows    []stats.Row
	}
	varStats struct {
		Name string `json:"name"`
		Type string `json:"type"`
		meant
		numbers
		Records []numbers `json:"records,omitzero"`
	}
)

func (f *statsFlags) one(ctx context.Context, e *cli.Env, path string) (*statsDesc, error) {
	r, err := f.source.open(ctx, e, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := checkVars(r, f.vars); err != nil {
		return nil, err
	}
	for _, name := range f.vars {
		if id, ok := r.Schema().VarID(name); ok && r.Schema().Vars()[id].Type == cdf5.Char {
			return nil, cli.Usagef("%s: %s holds text, which has no statistics", r.Base(), cli.Plain(name))
		}
	}
	sub, err := f.subset(ctx, r)
	if err != nil {
		return nil, err
	}
	part, err := r.View(f.vars, sub)
	if err != nil {
		return nil, err
	}
	p := e.NewProgress()
	defer p.End()
	d := &statsDesc{Path: r.Base(), Vars: []varStats{}, summary: describe(vfs.OS, r).summary(), vars: part.Schema().Vars()}
	last := -1
	for row, err := range stats.Of(ctx, part, &stats.Options{Workers: f.source.workers, Memory: f.source.memory, Progress: func(done, total int64) { p.At("read", done, total) }}) {
		if err != nil {
			return nil, err
		}
		if row.Var != last {
			last = row.Var
			x := varStats{Name: d.vars[row.Var].Name, Type: d.vars[row.Var].Type.String(), meant: meantBy(r.Schema(), d.vars[row.Var].Name)}
			if d.vars[row.Var].Record {
				x.Records = []numbers{}
			}
			d.Vars = append(d.Vars, x)
		}
		d.rows = append(d.rows, row)
		if x := &d.Vars[len(d.Vars)-1]; row.Record >= 0 {
			x.Records = append(x.Records, numbersOf(&row))
		} else {
			x.numbers = numbersOf(&row)
		}
	}
	return d, nil
}

func (d *statsDesc) print(e *cli.Env, byRecord bool) {
	fmt.Fprintf(e.Out, "%s: %s\n\n", cli.Plain(d.Path), d.summary)
	heads := []string{"VARIABLE", ">MIN", ">MAX", ">MEAN", ">VALUES", ">FILL", ">NAN"}
	if byRecord {
		heads = slices.Insert(heads, 1, ">RECORD")
	}
	t := e.NewTable("", heads...)
	for i := range d.rows {
		row := &d.rows[i]
		if row.Record >= 0 && !byRecord {
			continue
		}
		v := &d.vars[row.Var]
		mean := "-"
		if row.Values > 0 {
			mean = string(cli.AppendFloat(nil, row.Mean(), 10))
		}
		cells := []any{v.Name}
		if byRecord {
			rec := "all"
			if row.Record >= 0 {
				rec = fmt.Sprint(row.Record)
			}
			cells = append(cells, rec)
		}
		t.Row(append(cells, numberText(v, row.Min), numberText(v, row.Max), mean, row.Values, row.Fill, row.NaN)...)
	}
	t.Flush()
	for i := range d.Vars {
		for _, line := range d.Vars[i].lines() {
			fmt.Fprintf(e.Out, "note: %s\n", cli.Plain(line))
		}
	}
}

// meant describes for JSON how a variable is unpacked.
type meant struct {
	Unpacked string   `json:"unpacked,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	name     string
}

func meantBy(s *blob.Schema, name string) meant {
	id, _ := s.VarID(name)
	sv := &s.Vars()[id]
	return meant{cf.MeaningOf(sv).String(), cf.Remarks(s, sv), sv.Name}
}

// lines formats m as lines of text.
func (m meant) lines() []string {
	if m.Unpacked == "" {
		return m.Notes
	}
	return append([]string{m.name + ": " + m.Unpacked}, m.Notes...)
}

// numberText formats a number of a variable.
func numberText(v *blob.Variable, x any) string {
	if x == nil {
		return "-"
	}
	if y, ok := x.(float64); ok {
		bits, digits := 64, 15
		if cf.MeaningOf(v).Type() == elem.Float32 {
			bits, digits = 32, 7
		}
		if y == math.Trunc(y) && math.Abs(y) < 1e15 || bits == 32 {
			return string(cli.AppendFloat(nil, y, digits))
		}
		return string(cli.AppendFloat(nil, y, 10))
	}
	return fmt.Sprint(x)
}

// numbers holds the numbers of a summary for JSON.
type numbers struct {
	Record *int64 `json:"record,omitempty"`
	Values int64  `json:"values"`
	Fill   int64  `json:"fill"`
	NaN    int64  `json:"nan"`
	Min    any    `json:"min"`
	Max    any    `json:"max"`
	Mean   any    `json:"mean"`
}

func numbersOf(row *stats.Row) numbers {
	n := numbers{Values: row.Values, Fill: row.Fill, NaN: row.NaN}
	if row.Record >= 0 {
		n.Record = &row.Record
	}
	if row.Values > 0 {
		n.Min, n.Max, n.Mean = exactly(row.Min), exactly(row.Max), exactly(row.Mean())
	}
	return n
}

// exactly returns a number for JSON without rounding.
func exactly(x any) any {
	if y, ok := x.(float64); ok {
		return jsonValue{data: []float64{y}}
	}
	return x
}
