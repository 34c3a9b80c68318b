// Package chart is what all pictures of this module have in common: a pen whose
// coordinates are points (1/72 inch) from the upper left corner, the colours of
// paper, text and lines, series of colours by the OKLCH space, and a page that is
// written as PNG or SVG.
//
// A picture is a function that draws with a Pen. A Pen without a canvas only
// measures, so that the same function tells how high a picture becomes. Colours
// are of sRGB. The font is Liberation Sans, which is in the module: pictures are
// the same on every machine.
package chart
