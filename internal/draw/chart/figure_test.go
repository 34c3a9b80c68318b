package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"
)

// drawn returns the texts of a figure's SVG.
func drawn(t *testing.T, f *Figure) (texts []string) {
	t.Helper()
	var b bytes.Buffer
	if err := f.Page().SVG(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&b)
	in := false
	for {
		x, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("the SVG is not well formed: %v", err)
		}
		switch x := x.(type) {
		case xml.StartElement:
			in = x.Name.Local == "text"
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in {
				texts = append(texts, strings.TrimSpace(string(x)))
			}
		}
	}
}

func has(texts []string, s string) int {
	n := 0
	for _, x := range texts {
		if x == s {
			n++
		}
	}
	return n
}

func of(p *Plot) *Figure {
	p.Height, p.Line.Width = 200, 2
	return &Figure{Width: 300, Plot: p}
}

// TestFigure checks that the picture contains each text of its description, with any characters, and that a description always
// gives the same bytes.
func TestFigure(t *testing.T) {
	const odd = `a <b> & "c" ]]> é µ`
	f := of(&Plot{Title: "one", X: Axis{Label: odd, Log: true}, Line: Line{Color: Blue, Points: [][2]float64{{1, 1}, {10, 3}}, Dots: true}})
	f.Title, f.Lines = "A title", []string{"about it"}
	texts := drawn(t, f)
	for _, s := range []string{"A title", "about it", "one", odd, "10", "3"} {
		if n := has(texts, s); n != 1 {
			t.Errorf("%q is there %d times in %q", s, n, texts)
		}
	}
	for _, name := range []string{"a.svg", "a.png"} {
		var forms [2]bytes.Buffer
		for i := range forms {
			if err := Write(&forms[i], name, f.Page()); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(forms[0].Bytes(), forms[1].Bytes()) {
			t.Errorf("%s: other bytes", name)
		}
	}
	f.Title = "no \x00 text \xff\x1b[31m"
	drawn(t, f) // also checks that the SVG is well formed
}

func pixels(f *Figure, c color.RGBA) (n int) {
	img := f.Page().Image()
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if rgba(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

// TestNoNumbers checks that undrawable values are left out and the rest is drawn.
func TestNoNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, log := range []bool{false, true} {
		odd := [][2]float64{{nan, 1}, {1, nan}, {1, inf}, {1, -inf}, {inf, 1}, {-inf, -inf}}
		if log {
			odd = append(odd, [2]float64{0, 1}, [2]float64{1, 0}, [2]float64{-1, 1}, [2]float64{1, -1})
		}
		for name, points := range map[string][][2]float64{"nothing": nil, "odd": odd} {
			f := of(&Plot{X: Axis{Log: log}, Y: Axis{Log: log}, Empty: "no data", Line: Line{Points: points, Color: red}})
			if texts := drawn(t, f); has(texts, "no data") != 1 || pixels(f, red) != 0 {
				t.Errorf("%s, log %v: %q", name, log, texts)
			}
		}
		points := append(odd, [2]float64{1, 1}, [2]float64{2, 2}, odd[0], [2]float64{3, 3})
		if n := pixels(of(&Plot{X: Axis{Log: log}, Y: Axis{Log: log}, Line: Line{Points: points, Color: red}}), red); n < 100 {
			t.Errorf("log %v: the part of the line that can be drawn has %d pixels", log, n)
		}
	}
	for name, p := range map[string]*Plot{
		"point":     &Plot{Line: Line{Points: [][2]float64{{3, 7}}}},
		"at 0":      &Plot{Line: Line{Points: [][2]float64{{0, 0}}}},
		"log":       &Plot{X: Axis{Log: true}, Y: Axis{Log: true}, Line: Line{Points: [][2]float64{{3, 7}}}},
		"alone":     &Plot{Line: Line{Points: [][2]float64{{2, nan}, {3, 7}, {4, nan}}}},
		"far apart": &Plot{Line: Line{Points: [][2]float64{{-1e308, -1e308}, {1e308, 1e308}}}},
		"far, log":  &Plot{X: Axis{Log: true}, Y: Axis{Log: true}, Line: Line{Points: [][2]float64{{5e-324, 5e-324}, {1.7e308, 1.7e308}}}},
	} {
		p.Line.Color = red
		if n := pixels(of(p), red); n < 20 {
			t.Errorf("%s: %d pixels", name, n)
		}
	}
}

// TestCutOff checks that lines are clipped at the axes.
func TestCutOff(t *testing.T) {
	f := of(&Plot{X: Axis{Max: 10}, Y: Axis{Max: 10}, Line: Line{Points: [][2]float64{{-5, -5}, {15, 15}, {20, -100}, {5, 5}}, Color: red}})
	img := f.Page().Image()
	left := f.Plot.margin(Measure())
	for py := range img.Bounds().Dy() {
		for px := range img.Bounds().Dx() {
			if rgba(img.At(px, py)) == red && (float64(px) < Scale*(figureMargin+left)-4 || float64(px) > Scale*(f.Width-figureMargin-rightMargin)+4) {
				t.Fatalf("a line at %d %d", px, py)
			}
		}
	}
	for _, c := range []struct {
		a, b [2]float64
		want string
	}{
		{[2]float64{1, 1}, [2]float64{9, 9}, "[1 1] [9 9] true"},
		{[2]float64{-10, 5}, [2]float64{20, 5}, "[0 5] [10 5] true"},
		{[2]float64{5, 20}, [2]float64{5, 5}, "[5 10] [5 5] true"},
		{[2]float64{-5, -5}, [2]float64{-1, 20}, "false"},
		{[2]float64{11, 0}, [2]float64{11, 5}, "false"},
	} {
		from, to, ok := clip(c.a, c.b, Box(0, 0, 10, 10))
		round := func(p [2]float64) [2]float64 { return [2]float64{math.Round(p[0]) + 0, math.Round(p[1]) + 0} }
		if got := fmt.Sprint(round(from), " ", round(to), " ", ok); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v to %v: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}
