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

// drawn is a figure as SVG, and its texts.
func drawn(t *testing.T, f *Figure) (svg string, texts []string) {
	t.Helper()
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	svg = b.String()
	d := xml.NewDecoder(&b)
	in := false
	for {
		x, err := d.Token()
		if errors.Is(err, io.EOF) {
			return svg, texts
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

// everything uses all that a figure has.
func everything() *Figure {
	line := Line{Name: "line", Color: Series[0], Points: [][2]float64{{0, 1}, {1, 3}, {2, 2}}, Dots: true}
	return &Figure{Title: "A title", Lines: []string{"about it"}, Across: 2,
		Panels: []*Plot{
			&Plot{Title: "one", X: Axis{Label: "x", Names: []string{"a", "b", "c"}}, Y: Axis{Suffix: " s"}, Lines: []Line{line},
				Columns: []Columns{{Name: "columns", Color: Series[1], Values: []float64{2, 1, 0.5}}}},
			&Plot{Title: "two", X: Axis{Log: true}, Y: Axis{Log: true, Unit: Binary, Suffix: "B"}, Lines: []Line{{Name: "line", Color: Series[0], Dash: []float64{3, 2}, Points: [][2]float64{{1, 1}, {10, 500}}}}},
		}}
}

// Each text of a description is in the picture; a name that several panels have is once in the legend.
func TestFigure(t *testing.T) {
	_, texts := drawn(t, everything())
	for _, s := range []string{"A title", "about it", "one", "two", "x", "a", "b", "c", "line", "columns", "0 s", "1 B", "256 B"} {
		if n := has(texts, s); n != 1 {
			t.Errorf("%q is there %d times in %q", s, n, texts)
		}
	}
}

// The same description gives the same bytes, in both forms.
func TestSameBytes(t *testing.T) {
	form := func(name string) []byte {
		var b bytes.Buffer
		if err := Write(&b, name, everything()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, name := range []string{"a.svg", "a.png"} {
		first := form(name)
		for range 1 {
			if !bytes.Equal(form(name), first) {
				t.Errorf("%s: other bytes", name)
			}
		}
	}
}

func TestEscaped(t *testing.T) {
	const odd = `a <b> & "c" ]]> é µ`
	f := &Figure{Title: odd, Lines: []string{odd}, Panels: []*Plot{&Plot{Title: odd, X: Axis{Label: odd, Names: []string{odd}}, Lines: []Line{{Name: odd, Points: [][2]float64{{0, 1}}}}}}}
	if _, texts := drawn(t, f); has(texts, odd) != 6 {
		t.Errorf("%q", texts)
	}
	drawn(t, &Figure{Title: "no \x00 text \xff\x1b[31m"}) // is well formed
}

// pixels counts those of a colour.
func pixels(f *Figure, c color.RGBA) (n int) {
	if f.Width == 0 {
		f.Width = 300
	}
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

// What cannot be drawn is left out, and the rest is drawn.
func TestNoNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, log := range []bool{false, true} {
		odd := [][2]float64{{nan, 1}, {1, nan}, {1, inf}, {1, -inf}, {inf, 1}, {-inf, -inf}}
		if log {
			odd = append(odd, [2]float64{0, 1}, [2]float64{1, 0}, [2]float64{-1, 1}, [2]float64{1, -1})
		}
		for name, f := range map[string]*Figure{
			"nothing":  {Panels: []*Plot{&Plot{X: Axis{Log: log}, Y: Axis{Log: log}}}},
			"odd":      {Panels: []*Plot{&Plot{X: Axis{Log: log}, Y: Axis{Log: log}, Lines: []Line{{Points: odd, Color: red}}}}},
			"an empty": {Panels: []*Plot{&Plot{X: Axis{Log: log}, Y: Axis{Log: log}, Lines: []Line{{Color: red}}, Columns: []Columns{{Color: red}}}}},
		} {
			if _, texts := drawn(t, f); has(texts, "no data") != 1 || pixels(f, red) != 0 {
				t.Errorf("%s, log %v: %q", name, log, texts)
			}
		}
		good := &Plot{Height: 100, X: Axis{Log: log}, Y: Axis{Log: log}, Lines: []Line{{Points: append(odd, [2]float64{1, 1}, [2]float64{2, 2}, odd[0], [2]float64{3, 3}), Color: red}}}
		if n := pixels(&Figure{Panels: []*Plot{good}}, red); n < 100 {
			t.Errorf("log %v: the part of the line that can be drawn has %d pixels", log, n)
		}
	}
	if _, texts := drawn(t, &Figure{Panels: []*Plot{&Plot{Empty: "not measured"}}}); has(texts, "not measured") != 1 {
		t.Errorf("%q", texts)
	}
}

// A single point and a single column are seen.
func TestOne(t *testing.T) {
	for name, p := range map[string]*Plot{
		"point":       &Plot{Lines: []Line{{Points: [][2]float64{{3, 7}}, Color: red}}},
		"at 0":        &Plot{Lines: []Line{{Points: [][2]float64{{0, 0}}, Color: red}}},
		"log":         &Plot{X: Axis{Log: true}, Y: Axis{Log: true}, Lines: []Line{{Points: [][2]float64{{3, 7}}, Color: red}}},
		"alone":       &Plot{Lines: []Line{{Points: [][2]float64{{2, math.NaN()}, {3, 7}, {4, math.NaN()}}, Color: red}}},
		"column":      &Plot{X: Axis{Names: []string{"a"}}, Columns: []Columns{{Values: []float64{5}, Color: red}}},
		"log column":  &Plot{X: Axis{Names: []string{"a"}}, Y: Axis{Log: true, Unit: Binary}, Columns: []Columns{{Values: []float64{4096}, Color: red}}},
		"and not one": &Plot{X: Axis{Names: []string{"a", "b"}}, Columns: []Columns{{Values: []float64{math.NaN(), 5, math.Inf(1), 7}, Color: red}}},
		"far apart":   &Plot{Lines: []Line{{Points: [][2]float64{{-1e308, -1e308}, {1e308, 1e308}}, Color: red}}},
		"far, log":    &Plot{X: Axis{Log: true}, Y: Axis{Log: true}, Lines: []Line{{Points: [][2]float64{{5e-324, 5e-324}, {1.7e308, 1.7e308}}, Color: red}}},
	} {
		if n := pixels(&Figure{Panels: []*Plot{p}}, red); n < 20 {
			t.Errorf("%s: %d pixels", name, n)
		}
	}
}

// The axis goes to the data: columns of twice the value are twice as long.
func TestLengths(t *testing.T) {
	c := &Figure{Panels: []*Plot{&Plot{X: Axis{Names: []string{"a", "b"}}, Columns: []Columns{{Values: []float64{3, 0}, Color: red}, {Values: []float64{6, 0}, Color: Series[0]}}}}}
	one, two := pixels(c, red), pixels(c, Series[0])
	if r := float64(two) / float64(one); r < 1.95 || r > 2.05 {
		t.Errorf("columns: %d and %d pixels", one, two)
	}
}

// Lines beyond the axes are cut off at them.
func TestCutOff(t *testing.T) {
	p := &Plot{X: Axis{Max: 10}, Y: Axis{Max: 10}, Lines: []Line{{Points: [][2]float64{{-5, -5}, {15, 15}, {20, -100}, {5, 5}}, Color: red}}}
	f := &Figure{Panels: []*Plot{p}}
	img := f.Page().Image()
	x, y, _ := p.scales()
	left := p.margin(Measure())
	for py := range img.Bounds().Dy() {
		for px := range img.Bounds().Dx() {
			if rgba(img.At(px, py)) == red && (float64(px) < Scale*(figureMargin+left)-4 || float64(px) > Scale*(720-figureMargin-rightMargin)+4) {
				t.Fatalf("a line at %d %d", px, py)
			}
		}
	}
	if x.hi != 10 || y.hi != 10 {
		t.Errorf("axes to %v and %v", x.hi, y.hi)
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
