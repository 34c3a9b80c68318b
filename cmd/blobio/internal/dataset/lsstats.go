package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cli"
	"blobio/internal/stats"
)

// statsFlags are those of ls that reads data.
type statsFlags struct {
	partFlags
	source   sourceFlags
	on       bool
	byRecord bool
}

func (f *statsFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "stats", false, "print minimum, maximum and mean, and count values, fill values and NaN")
	fl.BoolVar(&f.byRecord, "by-record", false, "--stats: also for each record (JSON always has them)")
	f.partFlags.add(cmd, "--stats: of these variables only, such as T,PS")
	f.source.add(cmd)
}

// check says which flags want --stats.
func (f *statsFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"by-record", "vars", "dimension", "allow-missing", "memory", "no-verify", "workers"} {
		if !f.on && cmd.Flags().Changed(name) {
			return cli.Usagef("--%s goes with --stats", name)
		}
	}
	if f.on && cmd.Flags().Changed("long") {
		return cli.Usagef("--long and --stats exclude each other")
	}
	return nil
}

// run sums up each dataset. JSON is written as the numbers come.
func (f *statsFlags) run(cmd *cobra.Command, e *cli.Env, paths []string, asJSON bool) error {
	if asJSON {
		fmt.Fprint(e.Out, "{\n  \"datasets\": [")
	}
	for i, path := range paths {
		switch {
		case asJSON && i > 0:
			fmt.Fprint(e.Out, ",")
		case i > 0:
			fmt.Fprintln(e.Out)
		}
		if err := f.one(cmd.Context(), e, path, asJSON); err != nil {
			return err
		}
	}
	if asJSON {
		fmt.Fprint(e.Out, "\n  ]\n}\n")
	}
	return nil
}

// one sums up one dataset.
func (f *statsFlags) one(ctx context.Context, e *cli.Env, path string, asJSON bool) error {
	r, err := f.source.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := checkVars(r, f.vars); err != nil {
		return err
	}
	for _, name := range f.vars {
		if id, ok := r.Schema().VarID(name); ok && r.Schema().Vars()[id].Type == cdf5.Char {
			return cli.Usagef("%s: %s holds text, which has no statistics", r.Base(), cli.Plain(name))
		}
	}
	sub, err := f.subset(ctx, r)
	if err != nil {
		return err
	}
	part, err := r.View(f.vars, sub)
	if err != nil {
		return err
	}
	p := e.NewProgress()
	defer p.End()
	rows := stats.Of(ctx, part, &stats.Options{Workers: f.source.workers, Memory: f.source.memory, Progress: func(done, total int64) { p.At("read", done, total) },
		Fill: func(v int) any { return fillOf(&part.Schema().Vars()[v]) }})
	out := statsOut{e: e, vars: part.Schema().Vars(), byRecord: f.byRecord}
	if asJSON {
		return out.json(rows, r.Base())
	}
	fmt.Fprintf(e.Out, "%s: %s\n\n", cli.Plain(r.Base()), describe(r).summary())
	return out.text(rows)
}

// statsOut prints the rows of a dataset.
type statsOut struct {
	e        *cli.Env
	vars     []blob.Variable
	byRecord bool
}

func (o *statsOut) text(rows func(func(stats.Row, error) bool)) error {
	heads := []string{"VARIABLE", ">MIN", ">MAX", ">MEAN", ">VALUES", ">FILL", ">NAN"}
	if o.byRecord {
		heads = append(heads[:1:1], append([]string{">RECORD"}, heads[1:]...)...)
	}
	t := o.e.NewTable("", heads...)
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if row.Record >= 0 && !o.byRecord {
			continue
		}
		v := &o.vars[row.Var]
		number := func(x any) string { return numberText(v, x) }
		mean := "-"
		if row.Values > 0 {
			mean = string(cli.AppendFloat(nil, row.Mean(), 10))
		}
		cells := []any{v.Name}
		if o.byRecord {
			rec := "all"
			if row.Record >= 0 {
				rec = fmt.Sprint(row.Record)
			}
			cells = append(cells, rec)
		}
		t.Row(append(cells, number(row.Min), number(row.Max), mean, row.Values, row.Fill, row.NaN)...)
		if n++; n%layoutBatch == 0 {
			t.Flush()
		}
	}
	t.Flush()
	return nil
}

// numberText is a number of a variable.
func numberText(v *blob.Variable, x any) string {
	if x == nil {
		return "-"
	}
	if y, ok := x.(float64); ok {
		bits, digits := 64, 15
		if v.Type == cdf5.Float {
			bits, digits = 32, 7
		}
		if y == math.Trunc(y) && math.Abs(y) < 1e15 || bits == 32 {
			return string(cli.AppendFloat(nil, y, digits))
		}
		return string(cli.AppendFloat(nil, y, 10))
	}
	return fmt.Sprint(x)
}

// numbers are those of a summary, as JSON has them.
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

// exactly is a number for JSON.
func exactly(x any) any {
	if y, ok := x.(float64); ok {
		return jsonValue{data: []float64{y}}
	}
	return x
}

// json prints a variable when its last row is there; the records are printed as they come.
func (o *statsOut) json(rows func(func(stats.Row, error) bool), path string) error {
	w := o.e.Out
	name, err := json.Marshal(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n    {\"path\": %s, \"variables\": [", name)
	last, records := -1, 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		v := &o.vars[row.Var]
		if row.Var != last {
			if last >= 0 {
				fmt.Fprint(w, ",")
			}
			last, records = row.Var, 0
			name, err := json.Marshal(v.Name)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n      {\"name\": %s, \"type\": \"%v\"", name, v.Type)
			if v.Record {
				fmt.Fprint(w, ", \"records\": [")
			}
		}
		b, err := json.Marshal(numbersOf(&row))
		if err != nil {
			return err
		}
		switch {
		case row.Record >= 0:
			if records++; records > 1 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, "\n        %s", b)
		case v.Record:
			fmt.Fprintf(w, "], %s", b[1:])
		default:
			fmt.Fprintf(w, ", %s", b[1:])
		}
	}
	_, err = fmt.Fprint(w, "\n    ]}")
	return err
}
