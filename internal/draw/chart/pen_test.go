package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
)

var red = color.RGBA{200, 0, 0, 255}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

// at returns the pixel at the centre of a point of a picture.
func at(img image.Image, x, y int) color.RGBA { return rgba(img.At(x*Scale+1, y*Scale+1)) }

func TestPen(t *testing.T) {
	p := &Page{Width: 100, Height: 60, Draw: func(d *Pen) {
		d.Fill(red, Box(10, 10, 20, 10), Box(50, 10, 10, 10))
		d.Frame(Ink, 2, Box(10, 30, 20, 20))
		d.Line(Ink, 2, 40, 30, 40, 50)
		d.Lines(Ink, 2, [][2]float64{{50, 30}, {60, 30}}, [][2]float64{{50, 40}, {60, 40}}, nil)
		d.Polygon(red, [2]float64{70, 30}, [2]float64{90, 30}, [2]float64{70, 50})
		d.Dot(red, 80, 15, 5)
		d.Fill(red)
		d.Polygon(red)
		d.Lines(red, 1)
	}}
	img := p.Image()
	if got := img.Bounds(); got != image.Rect(0, 0, 200, 120) {
		t.Fatalf("%v", got)
	}
	for _, x := range []struct {
		x, y int
		want color.RGBA
	}{{12, 12, red}, {28, 18, red}, {32, 12, Paper}, {12, 22, Paper}, {55, 15, red}, {62, 15, Paper},
		{10, 40, Ink}, {20, 30, Ink}, {20, 40, Paper}, {40, 35, Ink}, {44, 35, Paper},
		{55, 30, Ink}, {55, 40, Ink}, {55, 35, Paper}, {73, 33, red}, {88, 48, Paper},
		{80, 15, red}, {83, 12, red}, {86, 15, Paper}} {
		if got := at(img, x.x, x.y); got != x.want {
			t.Errorf("at %d %d: %v, want %v", x.x, x.y, got, x.want)
		}
	}
}

// TestText checks that Align positions the text, and that wide text is shrunk.
func TestText(t *testing.T) {
	const word = "Hamburg"
	ink := func(draw func(d *Pen)) (from, to int) {
		img := (&Page{Width: 200, Height: 40, Draw: draw}).Image()
		from, to = 200, 0
		for x := range 200 {
			for y := range 40 {
				if at(img, x, y) != Paper {
					from, to = min(from, x), max(to, x)
				}
			}
		}
		return from, to
	}
	st := Style{Size: 12, Color: Ink}
	d := Measure()
	w := d.Width(word, st)
	if bold := d.Width(word, Style{Size: 12, Bold: true}); w < 30 || w > 70 || bold <= w || d.Width(word, Style{Size: 24}) != 2*w {
		t.Fatalf("%q is %v points wide, bold %v", word, w, bold)
	}
	for _, align := range []float64{0, 0.5, 1} {
		st.Align = align
		from, to := ink(func(d *Pen) { d.Write(word, 100, 25, 0, st) })
		if left := 100 - align*w; float64(from) < left-2 || float64(from) > left+3 || float64(to) < left+w-3 || float64(to) > left+w+2 {
			t.Errorf("align %v: from %d to %d, want %v to %v", align, from, to, left, left+w)
		}
	}
	st.Align = 0
	if from, to := ink(func(d *Pen) { d.Write(word, 100, 25, w/2, st) }); float64(to-from) > w/2+1 || float64(to-from) < w/3 {
		t.Errorf("of at most %v points: %d", w/2, to-from)
	}
}

func TestMeasureDrawsNothing(t *testing.T) {
	d := Measure()
	d.Fill(red, Box(0, 0, 1, 1))
	d.Frame(red, 1, Box(0, 0, 1, 1))
	d.Line(red, 1, 0, 0, 1, 1)
	d.Polygon(red, [2]float64{1, 1})
	d.Dot(red, 1, 1, 1)
	d.Write("text", 0, 0, 0, Style{Size: 10})
}

// TestUnder checks that an image lies below the drawing, at its position, in both formats.
func TestUnder(t *testing.T) {
	under := image.NewRGBA(image.Rect(0, 0, 40*Scale, 20*Scale))
	for i := 0; i < len(under.Pix); i += 4 {
		copy(under.Pix[i:], []byte{0, 120, 0, 255})
	}
	p := &Page{Width: 80, Height: 50, Under: under, At: image.Pt(20, 10), Draw: func(d *Pen) { d.Fill(red, Box(30, 15, 5, 5)) }}
	img := p.Image()
	green := color.RGBA{0, 120, 0, 255}
	for _, x := range []struct {
		x, y int
		want color.RGBA
	}{{19, 15, Paper}, {20, 10, green}, {59, 29, green}, {60, 29, Paper}, {32, 17, red}, {40, 31, Paper}} {
		if got := at(img, x.x, x.y); got != x.want {
			t.Errorf("at %d %d: %v, want %v", x.x, x.y, got, x.want)
		}
	}
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Count(s, "data:image/png;base64,") != 1 || strings.Contains(s, "image/jpg") {
		t.Error("the image is not in the SVG, or has the wrong type")
	}
}

func TestForms(t *testing.T) {
	p := &Page{Width: 50, Height: 20, Draw: func(d *Pen) { d.Write("text", 5, 15, 0, Style{Size: 9, Color: Ink}) }}
	for name, known := range map[string]bool{"a.png": true, "a.SVG": true, "dir.svg/a": false, "a.jpg": false, "": false} {
		if Known(name) != known {
			t.Errorf("%q: known %v", name, !known)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, "a.PNG", p); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&b); err != nil || img.Bounds() != image.Rect(0, 0, 100, 40) {
		t.Errorf("PNG: %v", err)
	}
	b.Reset()
	if err := Write(&b, "a.Svg", p); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&b)
	texts := 0
	for {
		x, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := x.(xml.CharData); ok && strings.TrimSpace(string(c)) == "text" {
			texts++
		}
	}
	if texts != 1 {
		t.Errorf("%d texts in the SVG", texts)
	}
}

func TestWidthOf(t *testing.T) {
	for asked, want := range map[int]int{0: DefaultWidth, 240: 240, 4000: 4000, 239: 0, 4001: 0, -1: 0} {
		if w, err := WidthOf(asked); w != want || (err == nil) != (want > 0) {
			t.Errorf("width %d: %d, %v", asked, w, err)
		}
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	p := &Page{Width: 10, Height: 10, Draw: func(*Pen) {}}
	for _, name := range []string{"a.png", "a.svg"} {
		if err := Write(full{}, name, p); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOklab checks known sRGB colours, from Ottosson's page and by inversion.
func TestOklab(t *testing.T) {
	for _, x := range []struct {
		l, a, b float64
		want    color.RGBA
	}{{1, 0, 0, color.RGBA{255, 255, 255, 255}}, {0, 0, 0, color.RGBA{0, 0, 0, 255}},
		{0.62795536, 0.22486306, 0.12584630, color.RGBA{255, 0, 0, 255}},
		{0.86643961, -0.23388757, 0.17949848, color.RGBA{0, 255, 0, 255}},
		{0.45201372, -0.03245698, -0.31152815, color.RGBA{0, 0, 255, 255}}} {
		if got, fits := Oklab(x.l, x.a, x.b); got != x.want || !fits {
			t.Errorf("%v %v %v: %v, fits %v, want %v", x.l, x.a, x.b, got, fits, x.want)
		}
	}
	if _, fits := Oklab(0.9, 0.3, 0.3); fits {
		t.Error("a colour that sRGB does not have fits")
	}
	if got := OKLCH(0.5, 0, 77); got.R != got.G || got.G != got.B {
		t.Errorf("without chroma: %v", got)
	}
	for h := 0.0; h < 360; h += 7 { // OKLCH always terminates, with more chroma than a grey
		if c := OKLCH(0.7, 0.4, h); c.R == c.G && c.G == c.B {
			t.Errorf("hue %v is grey: %v", h, c)
		}
	}
}

func TestShades(t *testing.T) {
	if Darker(color.RGBA{200, 100, 50, 255}, 0.5) != (color.RGBA{100, 50, 25, 255}) {
		t.Error("Darker")
	}
}
