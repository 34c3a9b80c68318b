package amrplot

// Options of Draw.
type Options struct {
	// Title stands above the picture.
	Title string
	// Width is the width of the picture, in points of 1/72 inch, 240 to 4000; a PNG
	// has twice as many pixels.
	Width int
	// By says what the colours mean: "level", or what the Groups of blocks are,
	// such as "owner" or "file".
	By string
	// Groups is the owner or file of each block given to Draw, from 0 on; nil:
	// colours are by level.
	Groups []int
	// Axis is the one that the plane is normal to, 0 to 2, of a mesh of three
	// dimensions.
	Axis int
	// Position is where the plane cuts the axis, in the units of the domain.
	// nil is the middle of the domain; a block holds its lower face.
	Position *float64
	// NoCurve leaves out the curve.
	NoCurve bool
}
