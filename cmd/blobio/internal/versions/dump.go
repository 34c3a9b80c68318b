package versions

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/elem"
	"blobio/internal/cli"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

type versionsDumpFlags struct {
	key     versionsKey
	version int64
	span    string
	box     int
	out     string
	values  bool
	force   bool
	asJSON  bool
}

func newVersionsDump(e *cli.Env) *cobra.Command {
	f := versionsDumpFlags{version: -1}
	cmd := &cobra.Command{
		Use:   "dump ARRAY",
		Short: "Print the elements of a version, or write them to a file",
		Long: `Print the elements of a range of a version in rows of the last dimension. Each line begins with
the index of its first element. For the array of a level, dump prints the table of boxes, or
with --box the data of one box, x fastest. For the array of snapshots, dump prints the last
snapshot. --values prints the elements of levels and snapshots instead.

With -o, dump writes the elements to a file: raw, row-major and little-endian. With --box, the
elements are float64, component by component.

All chunks that dump reads are verified.

JSON: {array, version, type, lo, hi, values}, where NaN and infinities are strings. For a level:
{array, version, level, dim, components, time, dt, dx, step, epoch, ratio,
boxes: [{lo, hi, owner, cells, offset}]}, where null is NaN.
For snapshots: the contents of the array. With -o: {path, bytes}.`,
		Example: `  blobio versions dump store/rho                         # the newest version
  blobio versions dump store/rho --version 3 --elements 0:10,5,:
  blobio versions dump store/rho --version 3 -o rho3.bin
  blobio versions dump store/amr.level2                  # the boxes
  blobio versions dump store/amr.level2 --box 7
  blobio versions dump --key-file key store/secret`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
	}
	fl := cmd.Flags()
	fl.Var(versionValue{&f.version}, "version", "version (default: the newest)")
	fl.StringVar(&f.span, "elements", "", "FIRST:END of each dimension (END excluded; either may be omitted), or one number, such as 0:10,5,:")
	fl.IntVar(&f.box, "box", -1, "print the data of this box of a level")
	fl.BoolVar(&f.values, "values", false, "print elements, even of levels and snapshots")
	fl.StringVarP(&f.out, "output", "o", "", "write the elements to this file, raw")
	fl.BoolVar(&f.force, "force", false, "--output: replace an existing file")
	f.key.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *versionsDumpFlags) run(cmd *cobra.Command, e *cli.Env, dir string) error {
	ctx := cmd.Context()
	given := cmd.Flags().Changed
	switch {
	case given("box") && (given("elements") || f.values):
		return cli.Usagef("--box cannot be combined with --elements or --values")
	case given("box") && f.box < 0:
		return cli.Usagef("--box %d, want a number of at least 0", f.box)
	case f.force && f.out == "":
		return cli.Usagef("--force needs --output")
	}
	v, err := f.key.one(dir)
	if err != nil {
		return err
	}
	defer v.Close()
	x, err := findVersion(v, f.version)
	if err != nil {
		return err
	}
	if given("box") {
		return f.dumpBox(ctx, e, v, x)
	}
	if name, level := arrays.Member(v.Spec().Name); name != "" && !f.values && !given("elements") && f.out == "" && x.Number > 0 {
		if level < 0 {
			s, err := v.Snapshot(ctx, x.Number)
			if err == nil {
				return e.PrintJSON(s)
			}
			if !errors.Is(err, versioned.ErrNotFormat) {
				return err
			}
		} else {
			t, err := v.Table(ctx, x.Number)
			if err == nil {
				return f.dumpTable(e, v, x, t)
			}
			if !errors.Is(err, versioned.ErrNotFormat) {
				return err
			}
		}
	}
	return f.dumpValues(ctx, e, v, x)
}

func (f *versionsDumpFlags) dumpValues(ctx context.Context, e *cli.Env, v *versioned.View, x versioned.VersionInfo) error {
	t := v.Spec().Type
	lo, hi, err := parseRange(f.span, x.Shape)
	if err != nil {
		return err
	}
	if f.out != "" {
		return f.write(ctx, e, func(w io.Writer) error {
			return v.Pieces(ctx, x.Number, lo, hi, versionsPiece, func(_, _ []int64, b []byte) error {
				elem.Reorder(b, b, t.Size(), false)
				_, err := w.Write(b)
				return err
			})
		})
	}
	if !f.asJSON {
		return v.Pieces(ctx, x.Number, lo, hi, versionsPiece, func(lo, hi []int64, b []byte) error { return printPiece(e.Out, t, lo, hi, b) })
	}
	fmt.Fprintf(e.Out, "{\"array\": %q, \"version\": %d, \"type\": %q, \"lo\": %s, \"hi\": %s, \"values\": [", v.Spec().Name, x.Number, t, indexText(lo), indexText(hi))
	sep := ""
	et, order := elem.Parse(t.String()), elem.HostOrder()
	err = v.Pieces(ctx, x.Number, lo, hi, versionsPiece, func(_, _ []int64, b []byte) error {
		for ; len(b) > 0; b = b[t.Size():] {
			s := string(et.AppendText(nil, b, order))
			if s == "NaN" || strings.HasSuffix(s, "Inf") {
				s = `"` + s + `"`
			}
			if _, err := io.WriteString(e.Out, sep+s); err != nil {
				return err
			}
			sep = ", "
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(e.Out, "]}\n")
	return err
}

func (f *versionsDumpFlags) write(ctx context.Context, e *cli.Env, w func(io.Writer) error) error {
	n, err := cli.WriteFile(ctx, f.out, f.force, w)
	if err != nil {
		return err
	}
	return e.Tell(f.asJSON, cli.Written{Path: f.out, Bytes: n}, "%s: %d bytes", f.out, n)
}

func (f *versionsDumpFlags) dumpTable(e *cli.Env, v *versioned.View, x versioned.VersionInfo, t *versioned.LevelInfo) error {
	type boxDesc struct {
		Lo     []int32 `json:"lo"`
		Hi     []int32 `json:"hi"`
		Owner  int32   `json:"owner"`
		Cells  int64   `json:"cells"`
		Offset int64   `json:"offset"`
	}
	if f.asJSON {
		boxes := []boxDesc{}
		for i := range t.Boxes {
			b := &t.Boxes[i]
			boxes = append(boxes, boxDesc{b.Lo[:t.Dim], b.Hi[:t.Dim], b.Owner, b.Cells(), t.Offsets[i]})
		}
		return e.PrintJSON(map[string]any{"array": v.Spec().Name, "version": x.Number, "level": t.Level, "dim": t.Dim, "components": t.Comps, "time": cli.JSONFloat(t.Time),
			"dt": cli.JSONFloat(t.Dt), "dx": cli.JSONFloat(t.Dx), "step": t.Step, "epoch": t.Epoch, "ratio": t.Ratio, "boxes": boxes})
	}
	fmt.Fprintf(e.Out, "%s version %d: level %d, %s, %s, time %s, dt %s, step %d, dx %s, ratio %d, regrid %d, %s\n\n", v.Spec().Name, x.Number, t.Level, cli.Plural(t.Dim, "dimension"),
		cli.Plural(t.Comps, "component"), cli.NumberText(t.Time), cli.NumberText(t.Dt), t.Step, cli.NumberText(t.Dx), t.Ratio, t.Epoch, boxCount(len(t.Boxes)))
	tb := e.NewTable("", ">BOX", "CELLS", ">NUMBER", ">OWNER", ">OFFSET")
	for i := range t.Boxes {
		b := &t.Boxes[i]
		tb.Row(i, boxText(t, b), b.Cells(), b.Owner, t.Offsets[i])
	}
	tb.Flush()
	return nil
}

// boxBytes returns the offset of a box's data in the array of a level.
func boxBytes(t *versioned.LevelInfo, box int) int64 { return t.DataOffset() + 8*t.Offsets[box] }

func boxCount(n int) string {
	if n == 1 {
		return "1 box"
	}
	return fmt.Sprintf("%d boxes", n)
}

func (f *versionsDumpFlags) dumpBox(ctx context.Context, e *cli.Env, v *versioned.View, x versioned.VersionInfo) error {
	if f.asJSON && f.out == "" {
		return cli.Usagef("--box with --json needs --output")
	}
	t, err := v.Table(ctx, x.Number)
	if errors.Is(err, versioned.ErrNotFormat) {
		return cli.WithHint(fmt.Errorf("%s version %d has no boxes: the array does not belong to a level, or the level was not saved yet", v.Spec().Name, x.Number), "")
	}
	if err != nil {
		return err
	}
	if f.box >= len(t.Boxes) {
		return cli.Usagef("--box %d is out of range, the level has %s", f.box, boxCount(len(t.Boxes)))
	}
	r := &bytesReader{ctx, v, x.Number, boxBytes(t, f.box), boxBytes(t, f.box+1)}
	if f.out != "" {
		return f.write(ctx, e, func(w io.Writer) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, versionsPiece))
			return err
		})
	}
	in := bufio.NewReaderSize(r, 1<<16)
	b := &t.Boxes[f.box]
	fmt.Fprintf(e.Out, "box %d of %s version %d: cells %s, owner %d\n", f.box, v.Spec().Name, x.Number, boxText(t, b), b.Owner)
	for c := range t.Comps {
		for z := int64(b.Lo[2]); z <= int64(b.Hi[2]); z++ {
			for y := int64(b.Lo[1]); y <= int64(b.Hi[1]); y++ {
				if err := boxRow(e.Out, in, c, [][2]int64{{int64(b.Lo[0]), int64(b.Hi[0])}, {y}, {z}}[:t.Dim]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// boxRow prints a row of cells of a component. at[0] is the first and the last x; at[1] and at[2] hold y and z.
func boxRow(w io.Writer, in io.Reader, comp int, at [][2]int64) error {
	var raw [8]byte
	cell := make([]int64, len(at))
	for d := range at {
		cell[d] = at[d][0]
	}
	for cell[0] <= at[0][1] {
		var line strings.Builder
		fmt.Fprintf(&line, "%d %s", comp, indexText(cell))
		for n := 0; n < 8 && cell[0] <= at[0][1]; n, cell[0] = n+1, cell[0]+1 {
			if _, err := io.ReadFull(in, raw[:]); err != nil {
				return err
			}
			line.WriteString(" " + cli.NumberText(math.Float64frombits(binary.LittleEndian.Uint64(raw[:]))))
		}
		if _, err := io.WriteString(w, line.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}
