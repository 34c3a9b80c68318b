package chart

import (
	"bytes"
	"image"
	"image/color"
	stddraw "image/draw"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"blobio/internal/base/fault"
)

// Scale is the number of PNG pixels per point, in each direction.
const Scale = 2

// DefaultWidth is the default width of a picture, in points.
const DefaultWidth = 720

// WidthOf checks a requested width, in points; 0 means the default.
func WidthOf(asked int) (int, error) {
	const least, most = 240, 4000
	switch {
	case asked == 0:
		return DefaultWidth, nil
	case asked < least || asked > most:
		return 0, fault.Usage("width %d, want %d to %d", asked, least, most)
	}
	return asked, nil
}

// A Page is a picture on paper, ready to write.
type Page struct {
	Width, Height float64 // in points
	Draw          func(d *Pen)
	Dark          bool // dark paper, which changes all colours except the colours of data
	Quick         bool // compress a PNG fast rather than well

	// Under, unless nil, is an image below everything that Draw draws. Its upper left corner is at At (whole points), with Scale
	// pixels per point. In an SVG it is an embedded PNG.
	Under *image.RGBA
	At    image.Point
}

// Image returns the picture as pixels.
func (p *Page) Image() image.Image {
	if p.Under == nil {
		return p.canvas(Tone(Paper, p.Dark)).Image()
	}
	img := image.NewRGBA(image.Rect(0, 0, int(p.Width)*Scale, int(p.Height)*Scale))
	stddraw.Draw(img, img.Bounds(), image.NewUniform(Tone(Paper, p.Dark)), image.Point{}, stddraw.Src)
	at := image.Rectangle{Max: p.Under.Rect.Size()}.Add(p.At.Mul(Scale))
	stddraw.Draw(img, at, p.Under, p.Under.Rect.Min, stddraw.Src)
	// a new canvas clears its image, so draw on a separate image
	stddraw.Draw(img, img.Bounds(), p.canvas(color.Transparent).Image(), image.Point{}, stddraw.Over)
	return img
}

func (p *Page) canvas(back color.Color) *vgimg.Canvas {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(p.Width), vg.Length(p.Height)), vgimg.UseDPI(72*Scale), vgimg.UseBackgroundColor(back))
	d := newPen(c, p.Height)
	d.dark = p.Dark
	p.Draw(d)
	return c
}

// Size returns the size in points. A PNG has Scale times as many pixels in each direction.
func (p *Page) Size() (width, height float64) { return p.Width, p.Height }

// PNG writes the picture as PNG.
func (p *Page) PNG(w io.Writer) error {
	level := png.BestCompression
	if p.Quick {
		level = png.BestSpeed
	}
	return (&png.Encoder{CompressionLevel: level}).Encode(w, p.Image())
}

// SVG writes the picture as SVG. Everything but Under is vectors.
func (p *Page) SVG(w io.Writer) error {
	c := vgsvg.New(vg.Length(p.Width), vg.Length(p.Height))
	d := newPen(c, p.Height)
	d.dark = p.Dark
	d.Fill(Paper, Rect{0, 0, p.Width, p.Height})
	if p.Under != nil {
		size := p.Under.Rect.Size().Div(Scale)
		c.DrawImage(vg.Rectangle{Min: d.point(float64(p.At.X), float64(p.At.Y+size.Y)), Max: d.point(float64(p.At.X+size.X), float64(p.At.Y))}, p.Under)
	}
	p.Draw(d)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	out := b.Bytes()
	if p.Under != nil {
		// vgsvg (gonum/plot 0.16) labels the embedded PNG as JPEG, and librsvg then does not draw it
		out = bytes.Replace(out, []byte("data:image/jpg;base64,"), []byte("data:image/png;base64,"), 1)
	}
	_, err := w.Write(out)
	return err
}

// A Picture can be written in both forms.
type Picture interface {
	PNG(w io.Writer) error
	SVG(w io.Writer) error
}

// Known reports whether a file name ends in a supported suffix: .png or .svg.
func Known(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".png" || ext == ".svg"
}

// Write writes a picture as SVG if the file name ends in .svg, otherwise as PNG.
func Write(w io.Writer, name string, p Picture) error {
	if strings.EqualFold(filepath.Ext(name), ".svg") {
		return p.SVG(w)
	}
	return p.PNG(w)
}
