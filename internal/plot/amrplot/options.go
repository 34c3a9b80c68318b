package amrplot

import (
	"fmt"
	"math"

	"blobio/internal/fault"
)

// Color says what the colours of blocks mean.
type Color uint8

const (
	// ByLevel: the refinement level.
	ByLevel Color = iota
	// ByOwner: the rank that has the block, Options.Groups.
	ByOwner
	// ByFile: the file that holds it, Options.Groups.
	ByFile
)

var colorNames = [...]string{"level", "owner", "file"}

// String returns "level", "owner" or "file".
func (c Color) String() string {
	if int(c) < len(colorNames) {
		return colorNames[c]
	}
	return fmt.Sprintf("Color(%d)", uint8(c))
}

// Options of Draw. nil means the defaults.
type Options struct {
	// Title stands above the picture. Default: none.
	Title string
	// Width is that of the picture, in points of 1/72 inch; a PNG has twice as
	// many pixels. Default 720, range 240 to 4000.
	Width int
	// Color says what the colours mean. Default ByLevel.
	Color Color
	// Groups is the owner or file of each block given to Draw, from 0; a
	// negative number is none (grey). It must be there for ByOwner and ByFile.
	Groups []int
	// Axis is the one that the plane is normal to, 0 to 2, of a mesh of three
	// dimensions. Default (nil) is the last, z.
	Axis *int
	// Position is where the plane cuts the axis, in the units of the domain.
	// Default (nil) is the middle of the domain; a block holds its lower face.
	Position *float64
	// NoCurve leaves out the curve.
	NoCurve bool
}

const maxGroup = 1 << 24

// Validate reports what is wrong with o, apart from the mesh.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case int(o.Color) >= len(colorNames):
		return fault.Usage("color %d", o.Color)
	case o.Color != ByLevel && o.Groups == nil:
		return fault.Usage("colours by %v want Groups", o.Color)
	case o.Axis != nil && (*o.Axis < 0 || *o.Axis > 2):
		return fault.Usage("axis %d, want 0 to 2", *o.Axis)
	case o.Position != nil && (math.IsNaN(*o.Position) || math.IsInf(*o.Position, 0)):
		return fault.Usage("position %v", *o.Position)
	}
	for i, g := range o.Groups {
		if g > maxGroup {
			return fault.Usage("group %d of block %d, want at most %d", g, i, maxGroup)
		}
	}
	return nil
}
