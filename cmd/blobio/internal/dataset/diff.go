package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
)

type diffFlags struct {
	source   sourceFlags
	vars     []string
	abs, rel float64
	values   bool
	order    bool
	cli.DiffFlags
}

func NewDiff(e *cli.Env) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two datasets",
		Long: `Compare two datasets. Their layouts and their numbers of ranks and subfiles may differ. diff
compares records, dimensions, attributes and variables, then all values in canonical order.
It prints a line for each difference in metadata and for each variable whose values differ.
NaN equals NaN. The order of dimensions, variables and attributes matters only with --order.

Other kinds of files are recognised by content and passed to the verb of their family, which
has its own flags. See "blobio --help".

In JSON, a difference has severity, field, message and numbers. numbers repeats the numbers
of the message: {different, of, first: [index], a, b, largest} for values; {a, b} for
lengths, records, shapes, positions and attributes, where null stands for an item that
one dataset lacks. NaN and infinities are strings.`,
		Example: `  blobio diff F_h0.nc F_h0.h5                   # two layouts of one run
  blobio diff --vars T,PS --rel 1e-6 a.nc b.nc
  blobio diff --values-only F_h0.nc other.nc    # ignore the attributes
  blobio diff -q a.nc b.nc && echo the same`,
		Args: cli.ExactArgs(2, "two datasets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	varsFlag(cmd, &f.vars, "v", "compare only these variables")
	fl.Float64Var(&f.abs, "abs", 0, "absolute tolerance of values")
	fl.Float64Var(&f.rel, "rel", 0, "relative tolerance of values, as a fraction of the larger magnitude")
	fl.BoolVar(&f.values, "values-only", false, "do not compare metadata")
	fl.BoolVar(&f.order, "order", false, "also compare the order of dimensions, variables and attributes")
	f.Add(cmd, fmt.Sprintf("print all differences (default: the first %d)", cli.DiffLines),
		map[string]any{"version": 1, "a": "", "b": "", "equal": true, "differences": []blob.Finding{}})
	f.source.add(cmd)
	return cmd
}

func (f *diffFlags) run(ctx context.Context, e *cli.Env, pathA, pathB string) error {
	if f.order && f.values {
		return cli.Usagef("--order and --values-only cannot be combined")
	}
	if !(f.abs >= 0) || !(f.rel >= 0) || math.IsInf(f.abs, 0) || math.IsInf(f.rel, 0) {
		return cli.Usagef("--abs %g --rel %g, want finite numbers >= 0", f.abs, f.rel)
	}
	a, err := f.source.open(ctx, e, pathA)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := f.source.open(ctx, e, pathB)
	if err != nil {
		return err
	}
	defer b.Close()
	total := int64(0)
	for i, v := range a.Schema().Vars() {
		if len(f.vars) > 0 && !slices.Contains(f.vars, v.Name) {
			continue
		}
		n := a.Schema().Elems(blob.VarID(i)) * int64(v.Type.Size())
		if v.Record {
			n *= min(a.Records(), b.Records())
		}
		total += n
	}
	for _, name := range f.vars {
		_, inA := a.Schema().VarID(name)
		_, inB := b.Schema().VarID(name)
		if !inA && !inB {
			return checkVars(a, []string{name})
		}
	}
	p := e.NewProgress()
	defer p.End()
	found := []blob.Finding{}
	for x := range blob.Diff(ctx, a, b, &blob.DiffOptions{Vars: f.vars, ValueOnly: f.values, Order: f.order, AbsTol: f.abs, RelTol: f.rel,
		Progress: func(done, _ int64) { p.At("diff", done, total) }}) {
		if x.Err != nil {
			p.End()
			return findingError(x)
		}
		if x.Field == "" && !f.concerns(x.Msg) {
			continue
		}
		found = append(found, x)
	}
	p.End()
	equal := len(found) == 0
	if len(f.vars) == 0 && len(a.LeftOut())+len(b.LeftOut()) > 0 { // stderr has a line for each item left out
		e.Judge(cli.Failed)
	}
	return f.Report(e, equal, map[string]any{"version": 1, "a": a.Base(), "b": b.Base(), "equal": equal, "differences": found}, func() {
		if equal {
			what := "equal"
			if len(a.LeftOut())+len(b.LeftOut()) > 0 {
				what = "equal in all that was compared"
			}
			fmt.Fprintf(e.Out, "%s and %s are %s\n", a.Base(), b.Base(), what)
			return
		}
		for i, x := range found {
			if i == cli.DiffLines && !f.All {
				e.More(int64(len(found) - i))
				break
			}
			if x.Field != "" {
				fmt.Fprintf(e.Out, "%s: ", cli.Plain(x.Field))
			}
			fmt.Fprintln(e.Out, cli.Plain(x.Msg))
		}
		fmt.Fprintf(e.Out, "%s and %s differ: %s\n", a.Base(), b.Base(), cli.Plural(len(found), "difference"))
	})
}

// concerns reports whether a metadata difference is about the variables of --vars. Dimensions and global attributes are not.
func (f *diffFlags) concerns(msg string) bool {
	if len(f.vars) == 0 {
		return true
	}
	for _, name := range f.vars {
		if strings.HasPrefix(msg, fmt.Sprintf("variable %q", name)) {
			return true
		}
	}
	return false
}

// findingError converts a finding back to an error.
func findingError(x blob.Finding) error {
	if x.File == "" && x.Field == "" {
		return x.Err
	}
	return x.AsError()
}
