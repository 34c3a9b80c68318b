package fti

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/cli"
)

type ffDiffFlags struct {
	cli.DiffFlags
	vars []string
	gap  int64
}

func newFFDiff(e *cli.Env) *cobra.Command {
	var f ffDiffFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two checkpoint files",
		Long: `Compare the variables of two checkpoint files of any layouts and hashes. diff lists variables
that are in only one file, sizes that differ, and ranges of bytes that differ, as offsets in
the variable. Ranges separated by at most --gap equal bytes are joined.

In JSON, a size of -1 means that the file does not have the variable.`,
		Example: `  blobio ff diff Ckpt6-Rank0.fti Ckpt7-Rank0.fti
  blobio ff diff --gap 16384 a.fti b.fti     # blocks of a differential checkpoint
  blobio ff diff -q a.fti b.fti && echo the same`,
		Args: cli.ExactArgs(2, "two checkpoint files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	ffVarsFlag(cmd, &f.vars, "compare only these variables, such as 1,4")
	fl.Var(cli.SizeFlag(&f.gap), "gap", "maximum number of equal bytes inside a range (default 63, less than a cache line)")
	f.gap = 63
	f.Add(cmd, fmt.Sprintf("print all ranges (default: the first %d of each variable)", ffDiffRanges),
		map[string]any{"a": "", "b": "", "equal": true, "differences": []ffDifference{}})
	return cmd
}

// ffDiffRanges is the maximum number of printed ranges of a variable.
const ffDiffRanges = 8

// ffDifference is one variable that differs.
type ffDifference struct {
	Var    int32            `json:"variable"`
	SizeA  int64            `json:"size_a"`
	SizeB  int64            `json:"size_b"`
	Bytes  int64            `json:"bytes"`
	Ranges []ffformat.Range `json:"ranges"`
	More   int64            `json:"more_ranges,omitempty"`
	Error  string           `json:"error,omitempty"`
}

func (f *ffDiffFlags) run(cmd *cobra.Command, e *cli.Env, pathA, pathB string) error {
	fileA, a, err := openFFReader(cmd.Context(), pathA, true)
	if err != nil {
		return err
	}
	defer fileA.Close()
	fileB, b, err := openFFReader(cmd.Context(), pathB, true)
	if err != nil {
		return err
	}
	defer fileB.Close()
	ids, err := ffVars(f.vars, a.File(), b.File())
	if err != nil {
		return err
	}
	for _, file := range []*ffFile{fileA, fileB} {
		if file.bad != nil { // the damage may affect the ids of variables
			fmt.Fprintf(e.Stderr, "blobio: warning: %s\n", cli.ErrorText(file.bad))
			e.Judge(cli.Findings)
		}
	}
	found, err := f.compare(cmd, e, a, b, ids)
	if err != nil {
		return err
	}
	equal := len(found) == 0
	return f.Report(e, equal, map[string]any{"a": pathA, "b": pathB, "equal": equal, "differences": found}, func() {
		if equal {
			fmt.Fprintf(e.Out, "%s and %s are equal\n", pathA, pathB)
			return
		}
		for _, x := range found {
			f.print(e, x, pathA, pathB)
		}
		fmt.Fprintf(e.Out, "%s and %s differ in %s\n", pathA, pathB, cli.Plural(len(found), "variable"))
	})
}

func (f *ffDiffFlags) compare(cmd *cobra.Command, e *cli.Env, a, b *ffformat.Reader, ids []int32) ([]ffDifference, error) {
	var ctx context.Context = cmd.Context()
	p := e.NewProgress()
	defer p.End()
	found := []ffDifference{}
	o := &ffformat.Options{Gap: f.gap, Vars: ids, Progress: func(done, total int64) { p.At("diff", done, total) }}
	for v, err := range ffformat.Diff(ctx, a, b, o) {
		x := ffDifference{Var: v.ID, SizeA: v.SizeA, SizeB: v.SizeB, Bytes: v.Bytes, Ranges: v.Ranges, More: v.More}
		if x.Ranges == nil {
			x.Ranges = []ffformat.Range{}
		}
		if err != nil {
			if len(ffformat.BadVars(err)) == 0 {
				return nil, err
			}
			x.Error = cli.ErrorText(err)
		}
		found = append(found, x)
	}
	return found, nil
}

func (f *ffDiffFlags) print(e *cli.Env, x ffDifference, pathA, pathB string) {
	switch {
	case x.Error != "":
		fmt.Fprintf(e.Out, "cannot compare: %s\n", x.Error)
		return
	case x.SizeA < 0:
		fmt.Fprintf(e.Out, "variable %d: only in %s, %d bytes\n", x.Var, pathB, x.SizeB)
		return
	case x.SizeB < 0:
		fmt.Fprintf(e.Out, "variable %d: only in %s, %d bytes\n", x.Var, pathA, x.SizeA)
		return
	}
	fmt.Fprintf(e.Out, "variable %d: ", x.Var)
	both := min(x.SizeA, x.SizeB)
	if x.SizeA != x.SizeB {
		fmt.Fprintf(e.Out, "%d bytes and %d bytes, ", x.SizeA, x.SizeB)
	}
	if x.Bytes == 0 {
		fmt.Fprintf(e.Out, "the first %d bytes are equal\n", both)
		return
	}
	n := int64(len(x.Ranges)) + x.More
	fmt.Fprintf(e.Out, "%d of %d bytes differ (%s), in %s\n", x.Bytes, both, ffShare(x.Bytes, both), cli.Plural(n, "range"))
	for i, r := range x.Ranges {
		if i == ffDiffRanges && !f.All {
			fmt.Fprint(e.Out, "  ")
			e.More(n - int64(i))
			return
		}
		fmt.Fprintf(e.Out, "  [%d, %d) %d bytes\n", r.Off, r.Off+r.Len, r.Len)
	}
	if x.More > 0 {
		fmt.Fprintf(e.Out, "  ... and %d more ranges, too many to store\n", x.More)
	}
}
