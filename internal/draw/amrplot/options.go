package amrplot

// Options are the options of Draw.
type Options struct {
	// Title is drawn above the picture.
	Title string
	// Width is the width of the picture, in points of 1/72 inch, 240 to 4000; a PNG
	// has twice as many pixels.
	Width int
	// By is the meaning of the colours: "level", or the kind of Groups, such as "owner" or "file".
	By string
	// Groups is the owner or file of each block given to Draw, from 0; nil: colour by level.
	Groups []int
	// Axis is the axis normal to the plane, 0 to 2, for a mesh of three dimensions.
	Axis int
	// Position is where the plane cuts the axis, in the units of the domain. nil means the middle of the domain. A block includes
	// its lower face.
	Position *float64
	// NoCurve leaves out the curve.
	NoCurve bool
}
