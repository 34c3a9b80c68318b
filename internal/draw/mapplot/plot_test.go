package mapplot

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

func mapOf(t testing.TB, dims []int64, reqs ...[]decomp.Req) *decomp.Map {
	t.Helper()
	b := decomp.NewBuilder(dims, len(reqs))
	for r, q := range reqs {
		if err := b.Set(r, q); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Map()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// colorAt returns the colour at the centre of a cell of an index space plot.
func colorAt(p *Plot, rows, cols, row, col int) color.RGBA {
	b := p.Under.Bounds()
	return p.Under.RGBAAt((2*col+1)*b.Dx()/(2*cols), (2*row+1)*b.Dy()/(2*rows))
}

func TestIndexSpace(t *testing.T) {
	// 2 planes of 2 x 3: rank 0 has the first row of plane 1, rank 1 an element of the second row
	m := mapOf(t, []int64{2, 2, 3}, []decomp.Req{{Offset: 6, Length: 3}}, []decomp.Req{{Offset: 10, Length: 1}})
	p, err := Draw(m, &Options{Width: 240, Plane: 1, Title: "A map"})
	if err != nil {
		t.Fatal(err)
	}
	c := palette(2)
	want := [2][3]color.RGBA{{c[0], c[0], c[0]}, {colorUncovered, c[1], colorUncovered}}
	for row := range 2 {
		for col := range 3 {
			if got := colorAt(p, 2, 3, row, col); got != want[row][col] {
				t.Errorf("row %d column %d: %v, want %v", row, col, got, want[row][col])
			}
		}
	}
}

func TestFolded(t *testing.T) {
	m := decomp.Regular([]int64{10}, 5)
	p, err := Draw(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := palette(5)
	g, err := newGrid([]int64{10}, 0, 2.2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if got := colorAt(p, int(g.rows), int(g.cols), i/int(g.cols), i%int(g.cols)); got != c[i/2] {
			t.Errorf("element %d: %v, want %v", i, got, c[i/2])
		}
	}
	// the last row is not full: the cells after the last element must show the paper
	if got := colorAt(p, int(g.rows), int(g.cols), int(g.rows)-1, int(g.cols)-1); g.rows*g.cols > 10 && got != chart.Paper {
		t.Errorf("behind the end: %v", got)
	}
}

// lonLat returns a grid of a few longitudes and latitudes.
func lonLat(nlon, nlat int) (lon, lat []float32) {
	for j := range nlat {
		for i := range nlon {
			lon = append(lon, (float32(i)+0.5)*360/float32(nlon))
			lat = append(lat, -90+(float32(j)+0.5)*180/float32(nlat))
		}
	}
	return lon, lat
}

func TestGlobe(t *testing.T) {
	lon, lat := lonLat(24, 12)
	n := int64(len(lon))
	south := mapOf(t, []int64{3, 12, 24}, []decomp.Req{{Offset: n, Length: n / 2}}, []decomp.Req{{Offset: n + n/2, Length: n / 2}})
	for _, plate := range []bool{false, true} {
		p, err := Draw(south, &Options{Width: 240, Lon: lon, Lat: lat, Plate: plate, Plane: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := p.Under.Bounds()
		c := palette(2)
		for _, s := range []struct {
			x, y float64
			want color.RGBA
		}{{0.5, 0.75, c[0]}, {0.5, 0.25, c[1]}, {0.3, 0.6, c[0]}, {0.8, 0.4, c[1]}} {
			if got := p.Under.RGBAAt(int(s.x*float64(b.Dx())), int(s.y*float64(b.Dy()))); got != s.want {
				t.Errorf("plate %v at %v %v: %v, want %v", plate, s.x, s.y, got, s.want)
			}
		}
		if corner := p.Under.RGBAAt(1, 1); (corner == chart.Paper) != !plate {
			t.Errorf("plate %v: corner %v", plate, corner)
		}
	}
	// levels within an element
	var a, b []decomp.Req
	for i := range n {
		a = append(a, decomp.Req{Offset: 2 * i, Length: 1})
		b = append(b, decomp.Req{Offset: 2*i + 1, Length: 1})
	}
	for plane := range int64(2) {
		p, err := Draw(mapOf(t, []int64{n, 2}, a, b), &Options{Width: 240, Lon: lon, Lat: lat, Plane: plane})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Under.RGBAAt(p.Under.Bounds().Dx()/2+5, p.Under.Bounds().Dy()/3); got != palette(2)[plane] {
			t.Errorf("plane %d: %v", plane, got)
		}
	}
	// half of the globe has no elements
	p, err := Draw(decomp.Regular([]int64{n / 2}, 1), &Options{Width: 240, Lon: lon[:n/2], Lat: lat[:n/2]})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Under.RGBAAt(p.Under.Bounds().Dx()/2, p.Under.Bounds().Dy()/4); got != colorNone || len(p.keys) != 1 {
		t.Errorf("%v, %v", got, p.keys)
	}
}

func TestDrawRefuses(t *testing.T) {
	m := decomp.Regular([]int64{2, 3}, 2)
	nan := float32(math.NaN())
	for name, o := range map[string]*Options{
		"narrow":       {Width: 10},
		"plane":        {Plane: 1},
		"negative":     {Plane: -1},
		"lengths":      {Lon: make([]float32, 6), Lat: make([]float32, 5)},
		"positions":    {Lon: make([]float32, 5), Lat: make([]float32, 5)},
		"no positions": {Lon: []float32{}, Lat: []float32{}},
		"not a number": {Lon: []float32{0, nan, 0, 0, 0, 0}, Lat: make([]float32, 6)},
		"latitude":     {Lon: make([]float32, 6), Lat: []float32{91, 0, 0, 0, 0, 0}},
		"globe plane":  {Lon: make([]float32, 6), Lat: make([]float32, 6), Plane: 1},
	} {
		if _, err := Draw(m, o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Draw(decomp.Regular([]int64{0}, 1), nil); !errors.Is(err, fault.ErrUsage) {
		t.Error("a map without elements is drawn")
	}
	// a narrow region
	if p, err := Draw(m, &Options{Width: 240, Lon: make([]float32, 6), Lat: []float32{0, 1, 2, 3, 4, 80}, Plate: true}); err != nil {
		t.Error(err)
	} else if w, h := p.Size(); h > 5*w {
		t.Errorf("%v x %v", w, h)
	}
	if p, err := Draw(m, &Options{Width: 240, Lon: []float32{0, 0.001, 0, 0, 0, 0}, Lat: []float32{0, 1, 2, 3, 4, 80}, Plate: true}); err != nil {
		t.Error(err)
	} else if w, h := p.Size(); h > 5*w {
		t.Errorf("%v x %v", w, h)
	}
	// equal points are unusual, but allowed
	if _, err := Draw(m, &Options{Width: 240, Lon: make([]float32, 6), Lat: make([]float32, 6)}); err != nil {
		t.Error(err)
	}
}

func TestPNGAndSVG(t *testing.T) {
	for _, ranks := range []int{1, 24, 200} {
		p, err := Draw(decomp.Regular([]int64{30, 40}, ranks), &Options{Title: "Ranks <&>", Width: 300})
		if err != nil {
			t.Fatal(err)
		}
		w, h := p.Size()
		var b bytes.Buffer
		if err := p.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if img.Bounds() != image.Rect(0, 0, int(w)*chart.Scale, int(h)*chart.Scale) {
			t.Errorf("%v, want %v x %v points", img.Bounds(), w, h)
		}
		// the map is at its position, below the frame
		at := p.At.Mul(chart.Scale).Add(image.Pt(40, 40))
		if got := color.RGBAModel.Convert(img.At(at.X, at.Y)); got != p.Under.RGBAAt(40, 40) {
			t.Errorf("%d ranks: %v at %v, want %v", ranks, got, at, p.Under.RGBAAt(40, 40))
		}
		b.Reset()
		if err := p.SVG(&b); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		d := xml.NewDecoder(strings.NewReader(s))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%d ranks: not XML: %v", ranks, err)
			}
		}
		_, data, ok := strings.Cut(s, "data:image/png;base64,")
		data, _, _ = strings.Cut(data, `"`)
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
		if !ok || err != nil {
			t.Fatalf("%d ranks: no embedded PNG: %v", ranks, err)
		}
		if img, err := png.Decode(bytes.NewReader(raw)); err != nil || img.Bounds() != p.Under.Bounds() {
			t.Errorf("%d ranks: embedded PNG: %v", ranks, err)
		}
	}
}
