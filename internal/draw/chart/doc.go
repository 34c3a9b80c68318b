// Package chart draws all pictures of this module: figures of axes, lines and bars
// that are described as data (Figure, Plot, Bars), and whatever else a caller draws with
// a Pen, with the legends, colours and headings that the figures have. One description
// is written as PNG or SVG.
//
// A picture is a function that draws with a Pen. A Pen without a canvas only
// measures, so that the same function computes how high a picture becomes. Coordinates
// are points (1/72 inch) from the upper left corner; colours are of sRGB, on white
// paper. The font is Liberation Sans, which is in the module: a description gives
// the same bytes each time.
//
// Values that cannot be drawn (NaN, infinities, what is not positive on a logarithmic
// axis) are left out. Where nothing is left, the plot says so.
//
// Read first: page.go, pen.go, plot.go.
package chart
