package fieldplot

import (
	"math"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// A Kind is a kind of picture.
type Kind string

const (
	Auto      Kind = ""
	Map       Kind = "map"
	Section   Kind = "section"
	Line      Kind = "line"
	Histogram Kind = "histogram"
)

// Kinds are all kinds.
var Kinds = []Kind{Map, Section, Line, Histogram}

// Options are the options of a picture.
type Options struct {
	// Var is the name of a numeric variable.
	Var string
	// At selects one element along named dimensions, including the record dimension. Default: the first.
	At map[string]int64
	// Kind is the kind of picture. Default: a map if the coordinates are known, otherwise a kind that fits the dimensions.
	Kind Kind
	// X and Y are the dimensions of a section; X alone is the dimension of a line. Default: chosen by the coordinates.
	X, Y string
	// Width is the width of the picture in points of 1/72 inch; a PNG has twice as many pixels. Default 720, range 240 to 4000.
	Width int
	// Min and Max are the range of the colours or the value axis. Unless Min < Max, the range follows from the data.
	Min, Max float64
	// Log makes colours or the value axis logarithmic.
	Log bool
	// Colors is the name of a ramp of package chart. Default: chosen by the values.
	Colors string
	// Plate draws longitude and latitude at right angles instead of the globe. A part of the globe is always drawn with
	// longitude and latitude at right angles.
	Plate bool
	// Dark draws on dark paper.
	Dark bool
	// Coords is another dataset with the coordinates, on dimensions with the same names and lengths.
	Coords *Data
	// Generated draws a map on a grid that blobio generates for E3SM, regardless of the dataset's coordinates.
	Generated bool
}

// Data is an open dataset. ID must change whenever the reader's data may change, so that cached pictures of one state are not
// used for another.
type Data struct {
	Reader *blob.Reader
	ID     string
}

// Validate returns an error for options that are invalid for any dataset.
func (o *Options) Validate() error {
	switch {
	case o.Var == "":
		return fault.Usage("name of the variable is missing")
	case o.Colors != "" && chart.RampOf(o.Colors) == nil:
		return fault.Usage("unknown colours %q", o.Colors)
	case math.IsInf(o.Min, 0) || math.IsInf(o.Max, 0) || math.IsNaN(o.Min) || math.IsNaN(o.Max):
		return fault.Usage("values from %v to %v, want finite numbers", o.Min, o.Max)
	case o.ranged() && o.Log && o.Min <= 0:
		return fault.Usage("logarithmic scale begins at %v, want a positive number", o.Min)
	}
	switch o.Kind {
	case Auto, Map, Section, Line, Histogram:
	default:
		return fault.Usage("unknown kind of picture %q", string(o.Kind))
	}
	_, err := chart.WidthOf(o.Width)
	return err
}

// ranged reports whether Min and Max are set.
func (o *Options) ranged() bool { return o.Min < o.Max }

func (o *Options) width() int {
	wide, _ := chart.WidthOf(o.Width) // already checked by Validate
	return wide
}
