package versions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
)

type versionsDiffFlags struct {
	cli.DiffFlags
	key      versionsKey
	from, to int64
}

func newVersionsDiff(e *cli.Env) *cobra.Command {
	f := versionsDiffFlags{from: -1, to: -1}
	cmd := &cobra.Command{
		Use:   "diff ARRAY",
		Short: "List the ranges in which two versions differ",
		Long: `List the ranges in which two versions of an array differ, in row-major order, with the largest
difference in each range. Elements are compared bit by bit. The elements of the array of a
level are bytes.

By default, the newest version is compared with the previous version.

In JSON, ranges are index ranges [lo, hi) of the flattened array. more is the number of omitted
ranges.`,
		Example: `  blobio versions diff store/rho                     # what the newest version changed
  blobio versions diff store/rho --from 3 --to 5
  blobio versions diff -q store/rho --from 1 --to 2 && echo the same`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args[0])
		},
	}
	fl := cmd.Flags()
	fl.Var(versionValue{&f.from}, "from", "first version (default: the version before --to)")
	fl.Var(versionValue{&f.to}, "to", "second version (default: the newest)")
	f.Add(cmd, fmt.Sprintf("print all ranges (default: the first %d)", cli.DiffLines), difference{})
	f.key.add(cmd)
	return cmd
}

func (f *versionsDiffFlags) run(ctx context.Context, e *cli.Env, dir string) error {
	v, err := f.key.one(dir)
	if err != nil {
		return err
	}
	defer v.Close()
	to, err := findVersion(v, f.to)
	if err != nil {
		return err
	}
	if f.from < 0 {
		all := v.Versions()
		for i, x := range all {
			if x.Number == to.Number {
				if i == 0 {
					return cli.Usagef("version %d is the oldest version: give --from to compare it with another version", to.Number)
				}
				f.from = all[i-1].Number
			}
		}
	}
	from, err := findVersion(v, f.from)
	if err != nil {
		return err
	}
	p := e.NewProgress()
	c := comparison{v: v, from: from, to: to, most: cli.DiffLines, progress: func(done, total int64) { p.At("diff", done, total) }}
	if f.All {
		c.most = 1 << 20
	}
	err = c.run(ctx)
	p.End()
	if err != nil {
		return err
	}
	d := &c.difference
	return f.Report(e, d.Equal, d, func() { f.print(e, d, to.Shape) })
}

func (f *versionsDiffFlags) print(e *cli.Env, d *difference, shape []int64) {
	if d.Equal {
		fmt.Fprintf(e.Out, "%s: versions %d and %d are equal, %s\n", d.Array, d.From, d.To, cli.Plural(d.Elements, "element"))
		return
	}
	for _, x := range d.Fields {
		fmt.Fprintf(e.Out, "%s: %s, %s\n", x.Name, x.From, x.To)
	}
	for _, r := range d.Ranges {
		at := indexText(unflatten(r.Lo, shape))
		if r.Elements > 1 {
			at += " to " + indexText(unflatten(r.Hi-1, shape))
		}
		fmt.Fprintf(e.Out, "%s: %s, %s\n", at, cli.Plural(r.Elements, "element"), byText(r.Largest))
	}
	if d.More > 0 {
		e.More(d.More)
	}
	fmt.Fprintf(e.Out, "%s: versions %d and %d differ: %d of %s\n", d.Array, d.From, d.To, d.Differ, cli.Plural(d.Elements, "element"))
}

func byText(largest *float64) string {
	if largest == nil {
		return "some are not finite"
	}
	if *largest == 0 {
		return "signs of zeros only" // -0 and 0 have different bits
	}
	return "by at most " + cli.NumberText(*largest)
}

// unflatten returns the indices of an element in row-major order.
func unflatten(at int64, shape []int64) []int64 {
	idx := make([]int64, len(shape))
	for d := len(shape) - 1; d > 0; d-- {
		idx[d] = at % shape[d]
		at /= shape[d]
	}
	idx[0] = at
	return idx
}
