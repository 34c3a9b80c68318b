package versions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/versioned"
)

type versionsDiffFlags struct {
	key        versionsKey
	from, to   int64
	all, quiet bool
	values     bool
	asJSON     bool
}

func newVersionsDiff(e *cli.Env) *cobra.Command {
	f := versionsDiffFlags{from: -1, to: -1}
	cmd := &cobra.Command{
		Use:   "diff ARRAY...",
		Short: "Tell which ranges of two versions differ",
		Long: `Tell which ranges of two versions of an array differ, in row-major order, with the
largest difference in each. Elements are compared by their bits. Of two versions of
the array of a level, boxes of the same cells are compared, and those that only one
version has are listed; --values compares their bytes instead.

Without --from and --to the newest version is compared with the one before.

Exit codes: 0 equal, 1 different, 2 could not compare.

JSON: {array, from, to, equal, elements, differ, more, largest, ranges: [{lo, hi, elements, largest}],
boxes: [{box, in, lo, hi, numbers, differ, largest}], fields: [{name, from, to}]}. ranges are of the flattened array, hi is not
in them; more of them were left out (--all has all).`,
		Example: `  blobio versions diff store/rho                     # what the newest version changed
  blobio versions diff store/rho --from 3 --to 5
  blobio versions diff store/amr.level2 --from 3 --to 5
  blobio versions diff -q store/rho --from 1 --to 2 && echo the same`,
		Args: cli.MinArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	fl.Var(versionValue{&f.from}, "from", "one version (default: the one before the other)")
	fl.Var(versionValue{&f.to}, "to", "the other version (default: the newest)")
	fl.BoolVarP(&f.all, "all", "a", false, fmt.Sprintf("print all ranges, not only the first %d", cli.DiffLines))
	fl.BoolVar(&f.values, "values", false, "compare elements, also those of levels")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing, only set the exit code")
	f.key.add(cmd)
	cli.JsonFlag(cmd, &f.asJSON)
	return cmd
}

// Differences of two versions, as JSON has them.
type (
	versionsDiff struct {
		Array    string       `json:"array"`
		From     int64        `json:"from"`
		To       int64        `json:"to"`
		Equal    bool         `json:"equal"`
		Elements int64        `json:"elements"` // that were compared
		Differ   int64        `json:"differ"`
		More     int64        `json:"more"` // ranges that are not listed
		Largest  *float64     `json:"largest,omitempty"`
		Ranges   []rangeDiff  `json:"ranges"`
		Boxes    []boxDiff    `json:"boxes,omitempty"`
		Fields   []fieldsDiff `json:"fields,omitempty"`
	}
	rangeDiff struct {
		Lo       int64    `json:"lo"`
		Hi       int64    `json:"hi"`
		Elements int64    `json:"elements"`
		Largest  *float64 `json:"largest,omitempty"` // absent if it is not a number

		largest float64
	}
	boxDiff struct {
		Box     int      `json:"box"` // number in the version it is in
		In      string   `json:"in"`  // both, from, to
		Lo      []int32  `json:"lo"`
		Hi      []int32  `json:"hi"`
		Numbers int64    `json:"numbers"`
		Differ  int64    `json:"differ"`
		Largest *float64 `json:"largest,omitempty"`

		text    string
		largest float64
	}
	fieldsDiff struct {
		Name string `json:"name"`
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// comparer collects the runs in which two streams of elements differ.
type comparer struct {
	t      versioned.Type
	most   int // runs that are kept
	at     int64
	differ int64
	runs   []rangeDiff
	more   int64
	end    int64 // of the last run, listed or not
	large  float64
}

// add compares the next elements, in the byte order of the host.
func (c *comparer) add(a, b []byte) {
	size := c.t.Size()
	if bytes.Equal(a, b) {
		c.at += int64(len(a) / size)
		return
	}
	for ; len(a) > 0; a, b = a[size:], b[size:] {
		if !bytes.Equal(a[:size], b[:size]) {
			c.one(distance(c.t, a, b))
		}
		c.at++
	}
}

func (c *comparer) one(by float64) {
	c.differ++
	switch {
	case c.differ > 1 && c.end == c.at && c.more == 0:
		r := &c.runs[len(c.runs)-1]
		r.Hi++
		r.largest = larger(r.largest, by)
	case c.differ > 1 && c.end == c.at: // goes on with one that is not kept
	case len(c.runs) == c.most:
		c.more++
	default:
		c.runs = append(c.runs, rangeDiff{Lo: c.at, Hi: c.at + 1, largest: by})
	}
	c.end = c.at + 1
	c.large = larger(c.large, by)
}

// larger is NaN if one of them is: such a difference is beyond measure.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return max(a, b)
}

func (f *versionsDiffFlags) run(ctx context.Context, e *cli.Env, dirs []string) error {
	if f.quiet && f.asJSON {
		return cli.Usagef("--quiet prints nothing, and excludes --json")
	}
	v, err := f.key.one(dirs)
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
					return cli.Usagef("version %d is the oldest one: --from says what to compare it with", to.Number)
				}
				f.from = all[i-1].Number
			}
		}
	}
	from, err := findVersion(v, f.from)
	if err != nil {
		return err
	}
	d := &versionsDiff{Array: v.Spec().Name, From: from.Number, To: to.Number, Ranges: []rangeDiff{}}
	done := false
	if name, level := levelOf(d.Array); name != "" && level >= 0 && !f.values {
		done, err = f.levels(ctx, e, v, d)
	}
	if err == nil && !done {
		err = f.elements(ctx, e, v, d, from, to)
	}
	if err != nil {
		return err
	}
	d.Equal = d.Differ == 0 && len(d.Fields) == 0 && len(d.Boxes) == 0
	if !d.Equal {
		e.Code = cli.Findings
	}
	switch {
	case f.quiet:
		return nil
	case f.asJSON:
		return e.PrintJSON(d)
	}
	f.print(e, d, to.Shape)
	return nil
}

// kept is how many ranges are listed.
func (f *versionsDiffFlags) kept() int {
	if f.all {
		return 1 << 20
	}
	return cli.DiffLines
}

func (f *versionsDiffFlags) elements(ctx context.Context, e *cli.Env, v *versioned.View, d *versionsDiff, from, to versioned.VersionInfo) error {
	if extentText(from.Shape) != extentText(to.Shape) {
		d.Fields = append(d.Fields, fieldsDiff{"shape", extentText(from.Shape), extentText(to.Shape)})
	}
	t := v.Spec().Type
	lo, hi, total := make([]int64, len(to.Shape)), make([]int64, len(to.Shape)), int64(t.Size())
	for k := range hi {
		hi[k] = min(from.Shape[k], to.Shape[k])
		total *= hi[k]
	}
	c := comparer{t: t, most: f.kept()}
	p := e.NewProgress()
	defer p.End()
	var other []byte
	err := eachPiece(ctx, v, to.Number, lo, hi, func(lo, hi []int64, b []byte) error {
		if len(other) < len(b) {
			other = make([]byte, len(b))
		}
		a := other[:len(b)]
		if err := v.Get(ctx, from.Number, lo, hi, a); err != nil {
			return err
		}
		c.add(a, b)
		p.At("diff", c.at*int64(t.Size()), total)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	d.Elements, d.Differ, d.More = c.at, c.differ, c.more
	for _, r := range c.runs {
		r.Elements, r.Largest = r.Hi-r.Lo, cli.Finite(r.largest)
		d.Ranges = append(d.Ranges, r)
	}
	if c.differ > 0 {
		d.Largest = cli.Finite(c.large)
	}
	return nil
}

// levels compares two versions of the array of a level, box by box. It says false if it is not one.
func (f *versionsDiffFlags) levels(ctx context.Context, e *cli.Env, v *versioned.View, d *versionsDiff) (bool, error) {
	a, err := v.Table(ctx, d.From)
	if err == nil {
		var b *versioned.LevelInfo
		if b, err = v.Table(ctx, d.To); err == nil {
			return true, f.boxes(ctx, e, v, d, a, b)
		}
	}
	if errors.Is(err, versioned.ErrNotFormat) {
		err = nil
	}
	return false, err
}

func (f *versionsDiffFlags) boxes(ctx context.Context, e *cli.Env, v *versioned.View, d *versionsDiff, a, b *versioned.LevelInfo) error {
	field := func(name, x, y string) {
		if x != y {
			d.Fields = append(d.Fields, fieldsDiff{name, x, y})
		}
	}
	field("time", cli.NumberText(a.Time), cli.NumberText(b.Time))
	field("dt", cli.NumberText(a.Dt), cli.NumberText(b.Dt))
	field("step", fmt.Sprint(a.Step), fmt.Sprint(b.Step))
	field("regrid", fmt.Sprint(a.Epoch), fmt.Sprint(b.Epoch))
	field("boxes", fmt.Sprint(len(a.Boxes)), fmt.Sprint(len(b.Boxes)))
	field("components", fmt.Sprint(a.Comps), fmt.Sprint(b.Comps))
	type cells struct{ lo, hi [3]int32 }
	was := map[cells]int{}
	for i, x := range a.Boxes {
		was[cells{x.Lo, x.Hi}] = i
	}
	p := e.NewProgress()
	defer p.End()
	for i := range b.Boxes {
		x := &b.Boxes[i]
		key := cells{x.Lo, x.Hi}
		bd := boxDiff{Box: i, In: "to", Lo: x.Lo[:b.Dim], Hi: x.Hi[:b.Dim], Numbers: b.Offsets[i+1] - b.Offsets[i], text: boxText(b, x)}
		if k, ok := was[key]; ok && a.Comps == b.Comps {
			delete(was, key)
			c := comparer{t: versioned.Float64, most: 0}
			if err := boxNumbers(ctx, v, &c, d, a, k, b, i); err != nil {
				return err
			}
			d.Elements += c.at
			d.Differ += c.differ
			if c.differ == 0 {
				continue
			}
			bd.In, bd.Differ, bd.largest, bd.Largest = "both", c.differ, c.large, cli.Finite(c.large)
		}
		d.Boxes = append(d.Boxes, bd)
		p.At("diff", b.Offsets[i]*8, b.Offsets[len(b.Boxes)]*8)
	}
	for i := range a.Boxes {
		x := &a.Boxes[i]
		if k, ok := was[cells{x.Lo, x.Hi}]; ok && k == i {
			d.Boxes = append(d.Boxes, boxDiff{Box: i, In: "from", Lo: x.Lo[:a.Dim], Hi: x.Hi[:a.Dim], Numbers: a.Offsets[i+1] - a.Offsets[i], text: boxText(a, x)})
		}
	}
	return nil
}

// boxNumbers compares the data of box i of a with those of box k of b, which has the same cells.
func boxNumbers(ctx context.Context, v *versioned.View, c *comparer, d *versionsDiff, a *versioned.LevelInfo, i int, b *versioned.LevelInfo, k int) error {
	lo, hi := boxPlace(a, i)
	other, _ := boxPlace(b, k)
	x, y := make([]byte, min(hi-lo, versionsPiece)), make([]byte, min(hi-lo, versionsPiece))
	for at := lo; at < hi; at += versionsPiece {
		n := min(hi-at, versionsPiece)
		if err := v.Get(ctx, d.From, []int64{at}, []int64{at + n}, x[:n]); err != nil {
			return err
		}
		if err := v.Get(ctx, d.To, []int64{other + at - lo}, []int64{other + at - lo + n}, y[:n]); err != nil {
			return err
		}
		littleEndian(x[:n], 8) // they are little-endian in the array
		littleEndian(y[:n], 8)
		c.add(x[:n], y[:n])
	}
	return nil
}

func (f *versionsDiffFlags) print(e *cli.Env, d *versionsDiff, shape []int64) {
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
		fmt.Fprintf(e.Out, "%s: %s, %s\n", at, cli.Plural(r.Elements, "element"), byText(r.largest))
	}
	for i, b := range d.Boxes {
		if i == cli.DiffLines && !f.all {
			d.More = int64(len(d.Boxes) - i)
			break
		}
		switch b.In {
		case "both":
			fmt.Fprintf(e.Out, "box %d %s: %d of %s, %s\n", b.Box, b.text, b.Differ, cli.Plural(b.Numbers, "number"), byText(b.largest))
		case "from":
			fmt.Fprintf(e.Out, "box %d %s: in version %d only\n", b.Box, b.text, d.From)
		default:
			fmt.Fprintf(e.Out, "box %d %s: in version %d only\n", b.Box, b.text, d.To)
		}
	}
	if d.More > 0 {
		fmt.Fprintf(e.Out, "... and %d more (--all shows them)\n", d.More)
	}
	fmt.Fprintf(e.Out, "%s: versions %d and %d differ: %d of %s\n", d.Array, d.From, d.To, d.Differ, cli.Plural(d.Elements, "element"))
}

func byText(largest float64) string {
	if math.IsNaN(largest) || math.IsInf(largest, 0) {
		return "some are not finite"
	}
	if largest == 0 {
		return "signs of zeros only" // -0 and 0 have other bits
	}
	return "by at most " + cli.NumberText(largest)
}

// unflatten is the index of an element in row-major order.
func unflatten(at int64, shape []int64) []int64 {
	idx := make([]int64, len(shape))
	for d := len(shape) - 1; d > 0; d-- {
		idx[d] = at % shape[d]
		at /= shape[d]
	}
	idx[0] = at
	return idx
}
