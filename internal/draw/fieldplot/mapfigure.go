package fieldplot

import (
	"context"
	"fmt"
	"image"
	"math"

	"blobio/internal/draw/chart"
	"blobio/internal/draw/globe"
	"blobio/internal/view/cf"
)

// sheet is a colour plot: a heading, a plot area, a colour bar and a legend.
type sheet struct {
	title string
	lines []string
	width float64
	over  func(d *chart.Pen, area chart.Rect) float64 // draws over the area and returns its bottom
	left  float64                                     // space to the left of the area, inside the margin
	above float64                                     // space above the area, below the heading
	wide  int                                         // width of the area, in points
	high  int
	notes []string
	bar   *chart.ColorBar
	keys  []chart.Key
	img   *image.RGBA
	dark  bool
}

// top returns the top of the area, in whole points.
func (s *sheet) top(d *chart.Pen) int {
	return int(math.Ceil(d.Heading(margin, margin-10, s.width-2*margin, s.title, s.lines...)+s.above)) + 4
}

func (s *sheet) area(d *chart.Pen) chart.Rect {
	return chart.Box(margin+s.left, float64(s.top(d)), float64(s.wide), float64(s.high))
}

// draw draws everything except the image, and returns its bottom.
func (s *sheet) draw(d *chart.Pen) float64 {
	area := s.area(d)
	y := s.over(d, area) + 4
	if s.bar != nil {
		wide := min(area.W, 560)
		y = s.bar.Draw(d, area.X+(area.W-wide)/2, y+8, wide) + 8
	}
	l := chart.Legend{Keys: s.keys}
	y = l.Draw(d, margin, y+4, s.width-2*margin)
	if len(s.notes) > 0 {
		y = d.Heading(margin, y-8, s.width-2*margin, "", s.notes...)
	}
	return y
}

// ends returns the ends of the colour range.
func (s *sheet) ends() *[2]float64 {
	if s.bar == nil { // there are no values
		return nil
	}
	return &[2]float64{s.bar.Axis.Min, s.bar.Axis.Max}
}

func (s *sheet) page() *chart.Page {
	area := s.area(chart.Measure())
	return &chart.Page{Width: s.width, Height: math.Ceil(s.draw(chart.Measure())) + margin/2, Dark: s.dark, Quick: true,
		Draw: func(d *chart.Pen) { s.draw(d) }, Under: s.img, At: image.Pt(int(area.X), int(area.Y))}
}

// drawMap draws the elements of one record and level at their positions.
func (p *plan) drawMap(ctx context.Context, g *grid) (*Picture, error) {
	st := newStats()
	r := g.raster
	shown := make([]float32, len(g.order)) // values of the pixels in g.order
	next := 0
	err := p.each(ctx, p.site.dims, func(first int64, values []float64) error {
		st.add(values)
		for ; next < len(g.order); next++ {
			e := int64(r.Pix[g.order[next]]) - first
			if e >= int64(len(values)) {
				break
			}
			shown[next] = float32(values[e])
			if cf.IsNone(values[e]) {
				shown[next] = none32
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	p.settle(&st)
	bar := p.bar(&st)
	s := &sheet{width: float64(p.o.width()), dark: p.o.Dark, bar: p.shown(bar, &st), wide: r.W / chart.Scale, high: r.H / chart.Scale}
	place, err := p.place(ctx)
	if err != nil {
		return nil, err
	}
	s.title, s.lines = p.heading(place, p.summary(&st))
	if !g.cells {
		s.notes = append(s.notes, "Each point has the colour of the nearest element.")
	}
	if p.site.made != "" {
		s.notes = append(s.notes, fmt.Sprintf("Generated coordinates: %s.", p.site.made))
	}
	s.notes = append(s.notes, p.remarks()...)
	s.left, s.over = globe.Room, g.view.Draw
	s.img = image.NewRGBA(image.Rect(0, 0, r.W, r.H))
	paper, empty := chart.Tone(chart.Paper, p.o.Dark), chart.Tone(chart.Empty, p.o.Dark)
	bare := false
	for i, e := range r.Pix {
		switch e {
		case globe.Outside:
			s.img.SetRGBA(i%r.W, i/r.W, paper)
		case globe.None:
			bare = true
			s.img.SetRGBA(i%r.W, i/r.W, empty)
		}
	}
	missing := false
	for k, i := range g.order {
		v := float64(shown[k])
		missing = missing || v != v
		s.img.SetRGBA(int(i)%r.W, int(i)/r.W, p.color(bar, v))
	}
	s.keys = keys(missing, bare)
	out := &Picture{Kind: Map, Title: p.title(), Notes: s.notes, Range: s.ends(), Page: s.page(), held: int64(len(s.img.Pix) + 8*len(r.Pix))}
	values := make([]float32, len(r.Pix))
	for k, i := range g.order {
		values[i] = shown[k]
	}
	area := s.area(chart.Measure())
	out.spot = func(x, y float64) (*Spot, bool) {
		px, py := int(math.Floor((x-area.X)*chart.Scale)), int(math.Floor((y-area.Y)*chart.Scale))
		if px < 0 || py < 0 || px >= r.W || py >= r.H || r.Pix[py*r.W+px] == globe.Outside {
			return nil, false
		}
		lon, lat, _ := g.view.Inverse((float64(px)+0.5)/float64(r.W), (float64(py)+0.5)/float64(r.H))
		sp := &Spot{State: Nothing, Text: "no element here", Where: position(lon*180/math.Pi, lat*180/math.Pi)}
		if e := int64(r.Pix[py*r.W+px]); e >= 0 {
			v := widen(values[py*r.W+px])
			sp.State, sp.Text = p.value(v)
			sp.Value = v
			at := map[string]int64{}
			for k := len(p.site.dims) - 1; k >= 0; k-- {
				at[p.site.dims[k]] = e % p.site.lens[k]
				e /= p.site.lens[k]
			}
			sp.Index = p.index(at)
		}
		return sp, true
	}
	return out, nil
}

// none32 marks a pixel without a value.
var none32 = math.Float32frombits(0x7fc0_0f11)

// widen returns the value of a pixel, or None for a pixel without a value.
func widen(x float32) float64 {
	if math.Float32bits(x) == math.Float32bits(none32) {
		return cf.None
	}
	return float64(x)
}

// keys returns the legend keys for pixels without a value.
func keys(missing, bare bool) (out []chart.Key) {
	if missing {
		out = append(out, chart.Area("no value (fill value or NaN)", chart.Dead))
	}
	if bare {
		out = append(out, chart.Area("no elements here", chart.Empty))
	}
	return out
}

// position describes a position on the globe in words.
func position(lon, lat float64) string {
	lon = math.Mod(math.Mod(lon, 360)+540, 360) - 180
	ns, ew := "N", "E"
	if lat < 0 {
		ns, lat = "S", -lat
	}
	if lon < 0 {
		ew, lon = "W", -lon
	}
	return fmt.Sprintf("%.2f° %s, %.2f° %s", lat, ns, lon, ew)
}
