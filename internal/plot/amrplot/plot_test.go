package amrplot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"blobio/amr"
	"blobio/internal/chart"
	"blobio/internal/fault"
)

// mesh is a tree refined around a sphere, in Morton order, parents first.
func mesh(g *amr.Geometry, finest int) (out []amr.Index) {
	var walk func(x amr.Index)
	walk = func(x amr.Index) {
		out = append(out, x)
		if l := x.Level(); l >= finest || l >= 0 && !crosses(g, x) {
			return
		}
		for c := range 1 << g.Rank {
			walk(x.Child([3]int{c & 1, c >> 1 & 1, c >> 2}))
		}
	}
	walk(amr.Root([3]int{}, g.MinLevel))
	return out
}

// crosses tells whether the sphere of radius 0.35 of the domain goes through a block.
func crosses(g *amr.Geometry, x amr.Index) bool {
	lo, hi := x.Bounds(g)
	near, far := 0.0, 0.0
	for a := range g.Rank {
		size := g.Upper[a] - g.Lower[a]
		l, h := (lo[a]-g.Lower[a])/size-0.5, (hi[a]-g.Lower[a])/size-0.5
		if l > 0 {
			near += l * l
		} else if h < 0 {
			near += h * h
		}
		m := math.Max(math.Abs(l), math.Abs(h))
		far += m * m
	}
	return near <= 0.35*0.35 && far >= 0.35*0.35
}

func geometry(rank, roots, minLevel int) *amr.Geometry {
	g := &amr.Geometry{Rank: rank, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Upper: [3]float64{1, 1, 1}, MinLevel: minLevel, MaxLevel: 6}
	for a := range rank {
		g.Roots[a], g.Block[a] = roots, 16
	}
	return g
}

// at returns the colour of the picture at a place of the domain, 0 to 1, y up.
func at(t *testing.T, p *Plot, x, y float64) color.RGBA {
	t.Helper()
	r := p.area
	c := p.Image().At(int((r.X+x*r.W)*chart.Scale), int((r.Y+(1-y)*r.H)*chart.Scale))
	return color.RGBAModel.Convert(c).(color.RGBA)
}

func mustDraw(t *testing.T, g *amr.Geometry, blocks []amr.Index, o *Options) *Plot {
	t.Helper()
	p, err := Draw(g, blocks, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestColors: every leaf block has the colour of its group at its place.
func TestColors(t *testing.T) {
	for _, by := range []Color{ByLevel, ByOwner, ByFile} {
		t.Run(by.String(), func(t *testing.T) {
			g := geometry(2, 4, -2)
			blocks := mesh(g, 3)
			groups := make([]int, len(blocks))
			for i := range groups {
				groups[i] = i*7/len(blocks) - bit(i == len(blocks)-1)*7
			}
			o := &Options{Color: by, Groups: groups, Title: "Blocks by " + by.String()}
			mustDraw(t, g, blocks, o)
			o.NoCurve = true
			p, err := Draw(g, blocks, o)
			if err != nil {
				t.Fatal(err)
			}
			img := p.Image()
			has := map[amr.Index]bool{}
			for _, x := range blocks {
				has[x] = true
			}
			leaves := 0
			for i, x := range blocks {
				if has[x.Child([3]int{})] {
					continue
				}
				leaves++
				want := p.colors[x.Level()+2]
				if by != ByLevel {
					if want = chart.Dead; groups[i] >= 0 {
						want = p.colors[groups[i]]
					}
				}
				lo, hi := x.Bounds(g)
				r := p.area
				got := color.RGBAModel.Convert(img.At(int((r.X+(lo[0]+hi[0])/2*r.W)*chart.Scale), int((r.Y+(1-(lo[1]+hi[1])/2)*r.H)*chart.Scale)))
				if got != want {
					t.Errorf("block %d (level %d): %v, want %v", i, x.Level(), got, want)
				}
			}
			if drawn, all := p.Blocks(); drawn != leaves || all != leaves {
				t.Errorf("%d of %d blocks drawn, want %d", drawn, all, leaves)
			}
		})
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSlice: of a mesh in three dimensions the blocks that hold the plane are drawn, and no others.
func TestSlice(t *testing.T) {
	for axis, name := range []string{"x", "y", "z"} {
		t.Run(name, func(t *testing.T) {
			g := geometry(3, 2, -1)
			g.Upper[axis] = 3
			blocks := mesh(g, 3)
			pos := 1.6
			p := mustDraw(t, g, blocks, &Options{Axis: &axis, Position: &pos, Title: "A plane"})
			area := 0.0
			for _, c := range p.plane.cells {
				area += c.W * c.H
				if lo, hi := blocks[c.pos].Bounds(g); pos < lo[axis] || pos >= hi[axis] {
					t.Errorf("block %d from %v to %v is drawn", c.pos, lo, hi)
				}
			}
			if math.Abs(area-1) > 1e-12 {
				t.Errorf("the blocks cover %v of the plane", area)
			}
			end := 3.0 // the upper end of the domain belongs to the last blocks
			q, err := Draw(g, blocks, &Options{Axis: &axis, Position: &end})
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := q.Blocks(); n == 0 {
				t.Error("no blocks at the upper end of the domain")
			}
		})
	}
}

// TestOneDimension: a row for each level, the coarsest below.
func TestOneDimension(t *testing.T) {
	g := geometry(1, 4, 0)
	var blocks []amr.Index
	for i := range 4 {
		x := amr.Root([3]int{i}, 0)
		blocks = append(blocks, x)
		if i == 1 {
			blocks = append(blocks, x.Child([3]int{0}), x.Child([3]int{1}))
		}
	}
	mustDraw(t, g, blocks, &Options{Title: "One dimension"})
	p, err := Draw(g, blocks, &Options{NoCurve: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x, y float64
		want color.RGBA
	}{{0.125, 0.25, p.colors[0]}, {0.3, 0.25, chart.Empty}, {0.3, 0.75, p.colors[1]}, {0.45, 0.75, p.colors[1]}, {0.9, 0.75, chart.Empty}} {
		if got := at(t, p, c.x, c.y); got != c.want {
			t.Errorf("at %v %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// TestMany: more owners than the legend has entries for, and many small blocks.
func TestMany(t *testing.T) {
	g := geometry(2, 8, -3)
	blocks := mesh(g, 6)
	groups := make([]int, len(blocks))
	for i := range groups {
		groups[i] = i * 100 / len(blocks)
	}
	p := mustDraw(t, g, blocks, &Options{Color: ByOwner, Groups: groups, Title: "A hundred owners"})
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if n := b.Len() / len(blocks); n > 400 {
		t.Errorf("%d bytes of SVG for each of %d blocks", n, len(blocks))
	}
}

func TestWritten(t *testing.T) {
	g := geometry(2, 4, -2)
	p := mustDraw(t, g, mesh(g, 2), &Options{Width: 300, Title: "Small"})
	var b bytes.Buffer
	if err := p.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	w, h := p.Size()
	if s := img.Bounds().Size(); s.X != int(w)*chart.Scale || math.Abs(float64(s.Y)-h*chart.Scale) > 1 {
		t.Errorf("the PNG is of size %v, want %v by %v points", s, w, h)
	}
	b.Reset()
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Small") || !strings.Contains(b.String(), "levels −2 to 2") {
		t.Error("no title or description in the SVG")
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	g2, g3 := geometry(2, 4, -2), geometry(3, 1, 0)
	b2, b3 := mesh(g2, 1), mesh(g3, 1)
	axis, three, pos, nan := 1, 3, 1.5, math.NaN()
	for name, c := range map[string]struct {
		g      *amr.Geometry
		blocks []amr.Index
		o      *Options
	}{
		"width":              {g2, b2, &Options{Width: 10}},
		"color":              {g2, b2, &Options{Color: 9}},
		"no groups":          {g2, b2, &Options{Color: ByFile}},
		"few groups":         {g2, b2, &Options{Color: ByFile, Groups: []int{1}}},
		"huge group":         {g2, b2, &Options{Color: ByFile, Groups: append(make([]int, len(b2)-1), 1<<30)}},
		"axis of 2-D":        {g2, b2, &Options{Axis: &axis}},
		"axis 3":             {g3, b3, &Options{Axis: &three}},
		"outside":            {g3, b3, &Options{Position: &pos}},
		"not a number":       {g3, b3, &Options{Position: &nan}},
		"no blocks":          {g2, nil, nil},
		"no rank":            {&amr.Geometry{}, b2, nil},
		"domain of no width": {&amr.Geometry{Rank: 1}, b2, nil},
	} {
		if _, err := Draw(c.g, c.blocks, c.o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
