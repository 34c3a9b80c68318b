package amrplot

import (
	"errors"
	"image/color"
	"math"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// TestField checks that each cell has the colour of its value at its position: the first axis points to the right, the second
// axis up. A cell without a value is grey.
func TestField(t *testing.T) {
	g := geometry(2, 4, 0)
	g.Upper[1] = 0.5 // twice as wide as high
	v := &Values{Wide: 8, Tall: 4, V: make([]float64, 32)}
	for i := range v.V {
		v.V[i] = float64(i)
	}
	v.V[9] = math.NaN()
	for _, edges := range []bool{false, true} {
		page, err := DrawField(g, mesh(g, 0), v, &FieldOptions{Options: Options{Title: "density", Width: 500}, Label: "density", Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		w, h := page.Under.Rect.Dx(), page.Under.Rect.Dy()
		if math.Abs(float64(w)/float64(h)-2) > 0.02 {
			t.Errorf("%d x %d pixels", w, h)
		}
		if wide, tall := Pixels(g, 500, 2); wide != w || tall != h {
			t.Errorf("Pixels says %d x %d, the picture has %d x %d", wide, tall, w, h)
		}
		bar := chart.Spread{Lo: 0, Hi: 31, Positive: 1}.Bar()
		img := page.Image()
		for i, x := range v.V {
			want := chart.Dead
			if x == x {
				want = bar.At(x)
			}
			// a position off the centre of the cell, where no block has an edge
			px := page.At.X*chart.Scale + int((float64(i%8)+0.4)/8*float64(w))
			py := page.At.Y*chart.Scale + int((1-(float64(i/8)+0.4)/4)*float64(h))
			if got := color.RGBAModel.Convert(img.At(px, py)); got != want {
				t.Errorf("edges %v, cell %d: %v, want %v", edges, i, got, want)
			}
		}
	}
	for _, o := range []*FieldOptions{{Colors: "none"}, {Options: Options{Width: 5}}, {Log: true, Options: Options{Title: "x"}}} {
		if o.Log {
			v = &Values{Wide: 1, Tall: 1, V: []float64{-1}}
		}
		if _, err := DrawField(g, mesh(g, 0), v, o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
