package chart

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Long names must leave space for the data and stay on the page.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("long name ", 60)
	f := of(&Plot{Title: long, X: Axis{Label: long}, Y: Axis{Text: func(float64) string { return long }}, Line: Line{Color: red, Points: [][2]float64{{0, 1}, {1, 1}}}})
	f.Title, f.Lines = long, []string{long}
	if n := pixels(f, red); n < 100 {
		t.Errorf("%d pixels of data", n)
	}
	img := f.Page().Image()
	for y := range img.Bounds().Dy() {
		for _, x := range []int{2, img.Bounds().Dx() - 3} {
			if rgba(img.At(x, y)) != Paper {
				t.Fatalf("something is at the edge of the page, %d %d", x, y)
			}
		}
	}
}

// Keys that do not fit must wrap to the next line, and nothing may be wider than the page.
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

// Axes around an area must have their ends, names and labels.
func TestAxes(t *testing.T) {
	var end float64
	p := &Page{Width: 300, Height: 200, Draw: func(d *Pen) {
		end = Axes(d, Box(60, 20, 200, 100), &Axis{Label: "x", Min: -1, Max: 1}, &Axis{Label: "y", Min: 3, Max: 4}, 50)
	}}
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"−1", "0", "1", "3.5", ">x<", ">y<"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("no %q", s)
		}
	}
	if end != 120+axisNames+axisLabel {
		t.Errorf("ends at %v", end)
	}
}
