package fieldplot

import (
	"blobio/internal/base/elem"
	"blobio/internal/draw/chart"
	"blobio/internal/view/cf"
)

// A Picture is ready to be written. It is immutable.
type Picture struct {
	*chart.Page
	Kind  Kind
	Title string
	Notes []string    // what the one who looks has to know
	Range *[2]float64 // of the colours
	spot  func(x, y float64) (*Spot, bool)
	held  int64
}

// A Spot is what a picture shows at a point.
type Spot struct {
	State State
	Value float64  // if the state is Good, or NaN
	Whole string   // the value with all digits, of integers in Atlas.Value
	Text  string   // the value with its unit, or what stands there instead
	Where string   // the place in words
	Notes []string // what one has to know before believing it
	Index []Index  // of the element, by the dimensions of the variable; none: there is no element
}

// Index is one of an element along a dimension.
type Index struct {
	Dim string `json:"dim"`
	At  int64  `json:"index"`
}

const margin = 24 // points

// Spot returns what is at a point of the picture, in points from the upper left corner. ok is false beside the data.
func (p *Picture) Spot(x, y float64) (s *Spot, ok bool) { return p.spot(x, y) }

func (p *Picture) bytes() int64 { return p.held + 4096 }

// value is the text of a value with its unit, or of what stands for none.
func (s *scale) value(x float64) (State, string) {
	switch {
	case cf.IsNone(x):
		return Fill, "no value"
	case x != x:
		return NaN, "NaN"
	}
	return Good, s.text(x, 7, true)
}

// text is a value: a date, or else a number, which has a unit if it is asked for. Integers, and whole numbers in double precision, have all digits.
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

// index is where an element is, by the numbers along some dimensions; the others are fixed.
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
