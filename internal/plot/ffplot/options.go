package ffplot

import (
	"blobio/internal/fault"
)

// ErrUsage: an argument is wrong.
var ErrUsage = fault.ErrUsage

// Options of Draw. nil means the defaults.
type Options struct {
	// Title stands above the picture. Default: none.
	Title string
	// Width is that of the picture, in points of 1/72 inch; a PNG has twice as
	// many pixels. Default 860, range 320 to 4000.
	Width int
	// Vars is how many variables have a line in the lower part, the largest ones.
	// Default 24, -1 none, at most 400.
	Vars int
}

const (
	defaultWidth       = 860
	minWidth, maxWidth = 320, 4000
	defaultVars        = 24
	maxVars            = 400
)

// Validate reports what is wrong with o.
func (o *Options) Validate() error {
	switch {
	case o == nil:
	case o.Width != 0 && (o.Width < minWidth || o.Width > maxWidth):
		return pkg.Errorf("%w: width %d, want %d to %d", ErrUsage, o.Width, minWidth, maxWidth)
	case o.Vars < -1 || o.Vars > maxVars:
		return pkg.Errorf("%w: lines for %d variables, want -1 to %d", ErrUsage, o.Vars, maxVars)
	}
	return nil
}
