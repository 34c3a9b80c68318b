package chart

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Texts of marks are in the plot, and in the way of no other one nor of a line, while there is room.
func TestMarks(t *testing.T) {
	area := Box(50, 20, 500, 300)
	r := &rooms{area: area, marks: []float64{300, 303, 306}, lines: [][][2]float64{{{50, 40}, {550, 40}}, {{50, 300}, {550, 120}}}}
	var all []Rect
	for _, x := range r.marks {
		b := r.find(x, 80, 30)
		if b.X < area.X || b.Y < area.Y || b.X+b.W > area.X+area.W || b.Y+b.H > area.Y+area.H {
			t.Errorf("%+v is outside", b)
		}
		for _, o := range all {
			if b.X < o.X+o.W && o.X < b.X+b.W && b.Y < o.Y+o.H && o.Y < b.Y+b.H {
				t.Errorf("%+v and %+v are in one place", b, o)
			}
		}
		for _, l := range r.lines {
			if _, _, ok := clip(l[0], l[1], b); ok {
				t.Errorf("a line goes through %+v", b)
			}
		}
		all = append(all, b)
	}
	many := &Plot{Height: 120, X: Axis{Max: 10}, Y: Axis{Max: 10}}
	for i := range 40 { // more than there is room for
		many.Marks = append(many.Marks, Mark{X: float64(i) / 4, Y: 5, Head: strings.Repeat("wide ", 30), Text: "text", Color: red})
	}
	drawn(t, &Figure{Width: 240, Panels: []Panel{many}})
}

// Long names leave room for the data, and stay on the page.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("long name ", 60)
	for name, p := range map[string]Panel{
		"bars": &Bars{Groups: []BarGroup{{Title: long, Bars: []Bar{{Name: long, Text: long, Parts: []Part{{1, red}}}}}}},
		"plot": &Plot{Title: long, X: Axis{Label: long}, Y: Axis{Suffix: long}, Lines: []Line{{Color: red, Points: [][2]float64{{0, 1}, {1, 1}}, End: long}}},
	} {
		f := &Figure{Title: long, Lines: []string{long}, Keys: []Key{Area(long, Series[0])}, Panels: []Panel{p}}
		if n := pixels(f, red); n < 100 {
			t.Errorf("%s: %d pixels of data", name, n)
		}
		img := f.Page().Image()
		for y := range img.Bounds().Dy() {
			for _, x := range []int{2, img.Bounds().Dx() - 3} {
				if rgba(img.At(x, y)) != Paper {
					t.Fatalf("%s: something is at the edge of the page, %d %d", name, x, y)
				}
			}
		}
	}
}

// Keys that do not fit go on in the next line, and nothing is wider than the page.
func TestLegend(t *testing.T) {
	d := Measure()
	var l Legend
	for i := range 20 {
		l.Keys = append(l.Keys, Area(fmt.Sprint("the key number ", i), red))
	}
	one, many := l.Draw(d, 0, 10, 1e4), l.Draw(d, 0, 10, 300)
	if one != 10+keyPitch || many < 10+7*keyPitch {
		t.Errorf("ends at %v on a wide page, %v on a narrow one", one, many)
	}
	if (&Legend{}).Draw(d, 0, 10, 100) != 10 || (&Strip{}).Draw(d, 0, 10, 100) != 10 {
		t.Error("an empty legend takes room")
	}
	var names []int
	s := Strip{Colors: Colors(100, 0.5), Name: func(i int) string { names = append(names, i); return fmt.Sprint(i) }}
	(&Page{Width: 300, Height: 60, Draw: func(d *Pen) { s.Draw(d, 10, 10, 280) }}).Image()
	if fmt.Sprint(names) != "[0 24 49 74 99]" {
		t.Errorf("numbers of the strip: %v", names)
	}
	if got := d.wrap("some words that are too long for it", 60, Style{Size: 10}); len(got) < 3 || strings.Join(got, " ") != "some words that are too long for it" {
		t.Errorf("%q", got)
	}
}

// Axes around an area have their ends, names and labels.
func TestAxes(t *testing.T) {
	var end float64
	p := &Page{Width: 300, Height: 200, Draw: func(d *Pen) {
		end = Axes(d, Box(60, 20, 200, 100), &Axis{Label: "x", Min: -1, Max: 1}, &Axis{Label: "y", Names: []string{"low", "high"}}, 50)
	}}
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"−1", "0", "1", "low", "high", ">x<", ">y<"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("no %q", s)
		}
	}
	if end != 120+axisNames+axisLabel {
		t.Errorf("ends at %v", end)
	}
}
