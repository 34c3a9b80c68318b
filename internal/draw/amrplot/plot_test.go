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

	"blobio/internal/amr"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// mesh returns a tree refined around a sphere, in Morton order, parents first.
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

// crosses reports whether the surface of a sphere with radius 0.35 of the domain cuts a block.
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

func mustDraw(t *testing.T, g *amr.Geometry, blocks []amr.Index, o *Options) *Plot {
	t.Helper()
	if o.Width == 0 {
		o.Width = 720
	}
	p, err := Draw(g, blocks, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestColors checks that every leaf block has the colour of its group at its position.
func TestColors(t *testing.T) {
	for _, by := range []string{"level", "owner", "file"} {
		t.Run(by, func(t *testing.T) {
			g := geometry(2, 4, -2)
			blocks := mesh(g, 3)
			groups := make([]int, len(blocks))
			for i := range groups {
				groups[i] = i * 7 / len(blocks)
			}
			o := &Options{By: by, Title: "Blocks by " + by, NoCurve: true}
			if by != "level" {
				o.Groups = groups
			}
			p := mustDraw(t, g, blocks, o)
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
				if by != "level" {
					want = p.colors[groups[i]]
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

// TestSlice checks that exactly the blocks that contain the plane are drawn from a mesh of three dimensions.
func TestSlice(t *testing.T) {
	for axis, name := range []string{"x", "y", "z"} {
		t.Run(name, func(t *testing.T) {
			g := geometry(3, 2, -1)
			g.Upper[axis] = 3
			blocks := mesh(g, 3)
			pos := 1.6
			p := mustDraw(t, g, blocks, &Options{Axis: axis, Position: &pos, Title: "A plane"})
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
			q := mustDraw(t, g, blocks, &Options{Axis: axis, Position: &end})
			if n, _ := q.Blocks(); n == 0 {
				t.Error("no blocks at the upper end of the domain")
			}
		})
	}
}

// TestMany checks pictures with more owners than legend entries, and with many small blocks.
func TestMany(t *testing.T) {
	g := geometry(2, 8, -3)
	blocks := mesh(g, 6)
	groups := make([]int, len(blocks))
	for i := range groups {
		groups[i] = i * 100 / len(blocks)
	}
	p := mustDraw(t, g, blocks, &Options{By: "owner", Groups: groups, Title: "A hundred owners"})
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
	g1 := geometry(1, 4, 0)
	outside, nan := 1.5, math.NaN()
	for name, c := range map[string]struct {
		g *amr.Geometry
		o Options
	}{
		"width":         {g2, Options{Width: 10}},
		"outside":       {g3, Options{Width: 720, Position: &outside}},
		"not a number":  {g3, Options{Width: 720, Position: &nan}},
		"one dimension": {g1, Options{Width: 720}},
	} {
		if _, err := Draw(c.g, mesh(c.g, 1), &c.o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
