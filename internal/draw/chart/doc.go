// Package chart draws all pictures of this module. Figures of axes, lines and bars are described as data (Figure, Plot, Bars); a
// caller can draw anything else with a Pen, with the same legends, colours and headings. One description is written as PNG or
// SVG.
//
// A picture is a function that draws with a Pen. A Pen without a canvas only measures, so that the same function computes the
// height of a picture. Coordinates are points (1/72 inch) from the upper left corner; colours are sRGB, on white paper. The font
// is Liberation Sans, embedded in the module, so a description always gives the same bytes.
//
// Values that cannot be drawn are left out: NaN, infinities, and non-positive values on a logarithmic axis. If none remain, the
// plot says so.
//
// Read first: page.go, pen.go, plot.go.
package chart
