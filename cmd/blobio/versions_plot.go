package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"blobio/internal/chart"
	"blobio/versioned"
)

type versionsPlotFlags struct {
	out, title string
	width      int
	log, force bool
	asJSON     bool
}

func newVersionsPlot(e *env) *cobra.Command {
	var f versionsPlotFlags
	cmd := &cobra.Command{
		Use:   "plot ARRAY... -o OUT",
		Short: "Draw what each version changed and wrote, as PNG or SVG",
		Long: `Draw for each version of an array the bytes of the chunks that changed and of the files
that it wrote, and the size of the whole state for comparison. A version that
started a generation (the array was opened again, or grew) is written whole.

JSON: {path, bytes, versions}.`,
		Example: `  blobio versions plot store/rho -o rho.png
  blobio versions plot store/rho --log -o rho.svg       # small versions beside whole ones
  blobio versions plot node0/store/rho node1/store/rho -o rho.png`,
		Args: minArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "name of the picture, .png or .svg")
	fl.StringVar(&f.title, "title", "", "title (default: the name of the array)")
	fl.IntVar(&f.width, "width", defaultCurveWidth, "width in points (a PNG has twice as many pixels)")
	fl.BoolVar(&f.log, "log", false, "logarithmic axis of bytes")
	fl.BoolVar(&f.force, "force", false, "replace the output if it is there")
	jsonFlag(cmd, &f.asJSON)
	_ = cmd.MarkFlagFilename("output", "png", "svg")
	return cmd
}

func (f *versionsPlotFlags) run(ctx context.Context, e *env, dirs []string) error {
	if err := checkPicture("output", f.out); err != nil {
		return err
	}
	if f.width < minCurveWidth || f.width > maxCurveWidth {
		return usagef("--width %d, want %d to %d", f.width, minCurveWidth, maxCurveWidth)
	}
	v, err := (&versionsKey{}).one(dirs)
	if err != nil {
		return err
	}
	defer v.Close()
	b := newVersionBars(v, f.log, float64(f.width))
	if len(b.rows) == 0 {
		return &hinted{fmt.Errorf("array %s has no version but 0, which is empty", v.Spec().Name), ""}
	}
	if f.title != "" {
		b.title = f.title
	}
	n, err := writePicture(ctx, f.out, f.force, b.picture())
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.printJSON(map[string]any{"path": f.out, "bytes": n, "versions": len(b.rows)})
	}
	fmt.Fprintf(e.out, "%s: %s of %s, %s\n", f.out, plural(len(b.rows), "version"), v.Spec().Name, humanBytes(n))
	return nil
}

// versionBars is a picture of the bytes of versions.
type versionBars struct {
	sheet
	rows  []versioned.VersionInfo
	state []int64 // bytes of the whole state of each
	log   bool
	lo    float64 // ends of the axis, bytes
	top   float64
}

func newVersionBars(v *versioned.View, log bool, width float64) *versionBars {
	b := &versionBars{log: log}
	b.width, b.height = width, max(math.Round(width*0.5), 300)
	var written int64
	for _, x := range v.Versions() {
		if x.Number == 0 {
			continue
		}
		n := int64(v.Spec().Type.Size())
		for _, d := range x.Shape {
			n *= d
		}
		b.rows, b.state = append(b.rows, x), append(b.state, n)
		written += x.Written
	}
	b.title = v.Spec().Name + ": bytes of versions"
	b.subtitle = fmt.Sprintf("%s, %s written, chunks of %s", plural(len(b.rows), "version"), humanBytes(written), humanBytes(int64(v.Spec().Chunk)))
	return b
}

var (
	barState   = color.RGBA{214, 110, 32, 255}
	barChanged = color.RGBA{14, 130, 92, 255}
	barWritten = color.RGBA{40, 120, 190, 255}
)

const barsLeft, barsRight, barsTop, barsBottom = 74.0, 22.0, 92.0, 52.0

func (b *versionBars) scale() {
	least := math.Inf(1)
	b.top = 1
	for i, r := range b.rows {
		for _, n := range []int64{r.Changed, r.Written, b.state[i]} {
			b.top = max(b.top, float64(n))
			if n > 0 {
				least = min(least, float64(n))
			}
		}
	}
	b.top *= 1.08
	if b.log {
		b.lo = math.Pow(2, math.Floor(math.Log2(min(least, b.top/4)))-1)
	}
}

func (b *versionBars) bar(n float64) float64 {
	room := b.height - barsTop - barsBottom
	if !b.log {
		return b.height - barsBottom - room*n/b.top
	}
	if n <= b.lo {
		return b.height - barsBottom
	}
	return b.height - barsBottom - room*math.Log(n/b.lo)/math.Log(b.top/b.lo)
}

func (b *versionBars) picture() *chart.Page {
	b.scale()
	return b.page(b.draw)
}

func (b *versionBars) draw() {
	b.key(barsLeft, 76, []string{"whole state", "changed", "written"}, []color.RGBA{barState, barChanged, barWritten})
	left, right, bottom := barsLeft, b.width-barsRight, b.height-barsBottom
	for _, t := range b.ticks() {
		b.pen.Line(chart.Grid, 0.6, left, b.bar(t), right, b.bar(t))
		b.pen.Write(tickBytes(t), left-6, b.bar(t)+3.5, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 1})
	}
	pitch := (right - left) / float64(len(b.rows))
	wide := min(0.8*pitch, 46)
	widest := 0.0
	for _, r := range b.rows {
		widest = max(widest, b.pen.Width(strconv.FormatInt(r.Number, 10), chart.Style{Size: 10}))
	}
	stride := int(math.Ceil((widest + 6) / pitch))
	for i, r := range b.rows {
		x := left + pitch*(float64(i)+0.5)
		rect := func(x, w float64, n int64, c color.Color) {
			if y := b.bar(float64(n)); n > 0 && bottom > y {
				b.pen.Fill(c, chart.Box(x, y, w, bottom-y))
			}
		}
		rect(x-wide*0.48, wide*0.47, r.Changed, barChanged)
		rect(x+wide*0.01, wide*0.47, r.Written, barWritten)
		if i%stride == 0 {
			b.pen.Write(strconv.FormatInt(r.Number, 10), x, bottom+15, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 0.5})
		}
		y := b.bar(float64(b.state[i]))
		b.pen.Line(barState, 1.6, x-pitch/2, y, x+pitch/2, y)
		if i > 0 {
			b.pen.Line(barState, 1.6, x-pitch/2, b.bar(float64(b.state[i-1])), x-pitch/2, y)
		}
	}
	b.pen.Line(chart.Ink, 0.9, left, bottom, right, bottom)
	b.pen.Write("version", (left+right)/2, bottom+34, 0, chart.Style{Size: 10.5, Color: chart.Ink, Align: 0.5})
}

// ticks are round numbers of bytes.
func (b *versionBars) ticks() (out []float64) {
	if !b.log {
		unit := 1.0
		for b.top/unit >= 1024 {
			unit *= 1024
		}
		for _, t := range ticks(b.top / unit) {
			out = append(out, t*unit)
		}
		return out
	}
	step := math.Pow(2, math.Ceil(math.Log2(b.top/b.lo)/7))
	for t := b.lo; t <= b.top; t *= step {
		out = append(out, t)
	}
	return out
}

func tickBytes(n float64) string {
	const units = "KMGTPE"
	i := -1
	for n >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	s := strconv.FormatFloat(float64(float32(n)), 'g', 4, 64)
	if i < 0 {
		return s + " B"
	}
	return s + " " + units[i:i+1] + "iB"
}
