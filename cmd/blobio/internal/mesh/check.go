package mesh

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"blobio/amr/cello"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/cli"
)

type amrCheckFlags struct {
	cli.CheckFlags
	forEnzo   bool
	enzoFloat string
	maxLevel  int
	levelSet  bool // --max-level was given, and
	floatSet  bool // --enzo-float was given
}

func newAmrCheck(e *cli.Env) *cobra.Command {
	var f amrCheckFlags
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check a checkpoint for errors",
		Long: `Check checkpoints. check looks for missing, extra and duplicate blocks. It compares block
lists with the groups of the files, and the index of each block with its name and level. It
verifies sets of children, the balance of the tree, order numbers, types, shapes and existing
checksums. Each finding names the effect on Enzo-E: it hangs, crashes, or runs on with wrong
data.

Enzo-E cannot restart from every sound checkpoint, for example from one with elongated blocks.
--for-enzo-e reports everything that prevents a restart; --enzo-float and --max-level imply
it. Exit code 0 means that the checkpoint is readable and correct. With --for-enzo-e, it also
means that Enzo-E can restart from the checkpoint.

At most 20 findings of each kind are printed, then the number of further ones. Unlikely values
in leaves give warnings: NaN, infinity, negative densities and energies, particles far from
their block, or a block with a different time step.`,
		Example: `  blobio amr check Check-10
  blobio amr check --quick Check-*       # without reading the data
  blobio amr check --for-enzo-e Check-10 # can Enzo-E restart from it?
  blobio amr check --enzo-float f64 --max-level 4 Check-10   # for a restart with these settings
  blobio amr check --json Check-10 | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "a checkpoint directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.floatSet = cmd.Flags().Changed("enzo-float")
			if f.levelSet = cmd.Flags().Changed("max-level"); f.levelSet && (f.maxLevel < 0 || f.maxLevel > amr.MaxDepth) {
				return cli.Usagef("--max-level %d, want 0 to %d", f.maxLevel, amr.MaxDepth)
			}
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	f.Add(cmd, "check only lists and headers, do not read the data", "", amrChecked{})
	fl.BoolVar(&f.forEnzo, "for-enzo-e", false, "also report everything that prevents a restart of Enzo-E")
	cli.ChoiceFlag(cmd, &f.enzoFloat, "enzo-float", "auto", "floating-point type of the program that will restart (auto: type of the attributes enzo_*)", "auto", "f32", "f64")
	fl.IntVar(&f.maxLevel, "max-level", 0, "finest level of the run that will restart (default: max_level of the checkpoint)")
	return cmd
}

type (
	amrChecked struct {
		Path string `json:"path"`
		Form string `json:"form"`
		Sums bool   `json:"checksums"` // the checkpoint has checksums
		cli.Found
		kinds map[string]*amrKind
	}
	amrKind struct {
		n  int
		of fault.Finding
	}
)

// mostOfKind is the maximum number of kept findings of one kind. Findings of one kind have the same severity, and
// concern the same attribute, dataset or table.
const mostOfKind = 20

func (c *amrChecked) add(x fault.Finding) {
	c.Count(x.Severity)
	kind := x.Severity.String() + " " + x.Field + " " + x.Effect
	if c.kinds == nil {
		c.kinds = map[string]*amrKind{}
	}
	k := c.kinds[kind]
	if k == nil {
		k = &amrKind{of: x}
		c.kinds[kind] = k
	}
	if k.n++; k.n <= mostOfKind {
		c.Findings = append(c.Findings, x)
	}
}

// rest adds the numbers of findings of each kind that were not kept.
func (c *amrChecked) rest() {
	for _, name := range slices.Sorted(maps.Keys(c.kinds)) {
		k := c.kinds[name]
		if k.n <= mostOfKind {
			continue
		}
		x := fault.Finding{Severity: k.of.Severity, Offset: -1, Field: k.of.Field, Effect: k.of.Effect, Msg: fmt.Sprintf("%d more findings of this kind", k.n-mostOfKind)}
		c.Findings = append(c.Findings, x)
	}
}

func (f *amrCheckFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	k := cli.Checking[*amrChecked]{Flags: &f.CheckFlags, Count: len(paths),
		One:   func(path string) (*amrChecked, error) { return f.one(ctx, e, path) },
		Print: func(c *amrChecked) { f.print(e, c) }}
	return k.Run(cmd, e, paths)
}

func (f *amrCheckFlags) one(ctx context.Context, e *cli.Env, path string) (*amrChecked, error) {
	dir, err := amrPath(path)
	if err != nil {
		return nil, err
	}
	c := &amrChecked{Path: dir, Form: formCello, Sums: exists(filepath.Join(dir, cellodir.Manifest))}
	o := &cello.VerifyOptions{StructureOnly: f.Quick, ForRestart: f.forEnzo || f.floatSet || f.levelSet, EnzoFloat: map[string]amr.Type{"f32": amr.Float32, "f64": amr.Float64}[f.enzoFloat]}
	if f.levelSet {
		o.MaxLevel = &f.maxLevel
	}
	p := e.NewProgress()
	defer p.End()
	o.Progress = func(done, total int64) { p.At("check "+dir, done, total) }
	for x := range cello.Verify(ctx, dir, o) {
		c.add(x)
	}
	c.rest()
	return c, ctx.Err()
}

func (f *amrCheckFlags) print(e *cli.Env, c *amrChecked) {
	if c.Sums {
		f.Print(e, c.Path, &c.Found)
		return
	}
	f.Print(e, c.Path, &c.Found, "the checkpoint has no checksums, so damaged values may be undetected")
}
