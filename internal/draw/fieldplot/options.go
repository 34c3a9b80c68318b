package fieldplot

import (
	"math"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// A Kind of picture.
type Kind string

const (
	Auto      Kind = ""
	Map       Kind = "map"
	Section   Kind = "section"
	Line      Kind = "line"
	Histogram Kind = "histogram"
)

// Kinds are the words for kinds.
var Kinds = []Kind{Map, Section, Line, Histogram}

// Options of a picture.
type Options struct {
	// Var is the name of the variable, which holds numbers.
	Var string
	// At chooses one element along dimensions by their names, the record dimension among them. Default: the first.
	At map[string]int64
	// Kind of picture. Default: a map if the coordinates are known, otherwise a kind that fits the dimensions.
	Kind Kind
	// X and Y are the dimensions of a section or, X alone, of a line. Default: what suits.
	X, Y string
	// Width of the picture in points of 1/72 inch; a PNG has twice as many pixels. Default 720, range 240 to 4000.
	Width int
	// Min and Max are the ends of the colours or of the axis of values. If not Min < Max they follow from the data.
	Min, Max float64
	// Log makes colours or the axis of values logarithmic.
	Log bool
	// Colors is the name of a ramp of package chart. Default: one that suits the values.
	Colors string
	// Plate draws longitude and latitude at right angles instead of the globe. Points of a part of the globe are always drawn so.
	Plate bool
	// Dark draws on dark paper.
	Dark bool
	// Coords is another dataset that has the coordinates, of dimensions with the same names and lengths.
	Coords *Data
	// Generated draws the map of an E3SM grid that blobio generates, whatever coordinates the dataset has.
	Generated bool
}

// Data is an open dataset. ID is another one whenever what the reader reads may be different, so that pictures of one state are
// not taken for places of another.
type Data struct {
	Reader *blob.Reader
	ID     string
}

// Validate reports what is wrong with o, apart from the dataset.
func (o *Options) Validate() error {
	switch {
	case o.Var == "":
		return fault.Usage("name of the variable is missing")
	case o.Colors != "" && chart.RampOf(o.Colors) == nil:
		return fault.Usage("unknown colours %q", o.Colors)
	case math.IsInf(o.Min, 0) || math.IsInf(o.Max, 0) || math.IsNaN(o.Min) || math.IsNaN(o.Max):
		return fault.Usage("values from %v to %v", o.Min, o.Max)
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

// ranged says that the ends of values are given.
func (o *Options) ranged() bool { return o.Min < o.Max }

func (o *Options) width() int {
	wide, _ := chart.WidthOf(o.Width) // Validate saw it
	return wide
}
