package fieldplot

import (
	"blobio/internal/base/elem"
	"blobio/internal/draw/chart"
	"blobio/internal/view/cf"
)

// A Picture is ready to write. It is immutable.
type Picture struct {
	*chart.Page
	Kind  Kind
	Title string
	Notes []string    // remarks for the viewer
	Range *[2]float64 // range of the colours
	spot  func(x, y float64) (*Spot, bool)
	held  int64
}

// A Spot is the content of a picture at a point.
type Spot struct {
	State State
	Value float64  // if State is Good or NaN
	Whole string   // the value with all digits; for integers set by Atlas.Value
	Text  string   // the value with its unit, or the text for a missing value
	Where string   // the position in words
	Notes []string // remarks about the value
	Index []Index  // index of the element, by the dimensions of the variable; empty: no element
}

// Index is the index of an element along a dimension.
type Index struct {
	Dim string `json:"dim"`
	At  int64  `json:"index"`
}

const margin = 24 // in points

// Spot returns the spot at a point of the picture, in points from the upper left corner. ok is false outside the data.
func (p *Picture) Spot(x, y float64) (s *Spot, ok bool) { return p.spot(x, y) }

func (p *Picture) bytes() int64 { return p.held + 4096 }

// value returns the text of a value with its unit, or the text for a missing value.
func (s *scale) value(x float64) (State, string) {
	switch {
	case cf.IsNone(x):
		return Fill, "no value"
	case x != x:
		return NaN, "NaN"
	}
	return Good, s.text(x, 7, true)
}

// text formats a value as a date or a number, optionally with its unit. Integers, also in double precision, have all digits.
func (s *scale) text(x float64, digits int, withIts bool) string {
	if s.times != nil {
		if d, ok := s.times.Date(x); ok {
			return d.Text(" ")
		}
	}
	out := number(x, digits)
	if s.of.mean.Type() == elem.Float32 {
		out = chart.Text(x, digits)
	}
	if withIts {
		return withUnit(out, unit(s.of.v))
	}
	return out
}

// index returns the full index of an element from its indices along some dimensions; the others are fixed.
func (a *array) index(at map[string]int64) (out []Index) {
	for _, d := range a.dims {
		i, ok := at[d.name]
		if !ok {
			i = d.index
		}
		out = append(out, Index{d.name, i})
	}
	return out
}
