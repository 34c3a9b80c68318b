package fieldplot

import (
	"context"
	"slices"
)

// A Sight describes how a variable can be shown: the kind of picture for the options, other possible kinds, and the dimensions
// with a choice of one element.
type Sight struct {
	Kind   Kind     `json:"kind"`
	Kinds  []Kind   `json:"kinds"`
	X      string   `json:"x,omitempty"` // dimensions of a section or line
	Y      string   `json:"y,omitempty"`
	Long   []string `json:"long"` // dimensions with several elements
	Fixed  []Choice `json:"fixed"`
	Places []string `json:"places"` // dimensions of positions on the globe
}

// A Choice is a dimension along which one element is chosen.
type Choice struct {
	Dim    string   `json:"dim"`
	Len    int64    `json:"length"`
	At     int64    `json:"index"`
	Record bool     `json:"record"`
	Text   string   `json:"text"`            // the chosen position, in words
	Texts  []string `json:"texts,omitempty"` // all positions, unless there are too many
}

// maxTexts is the maximum number of elements of a dimension that are listed in words.
const maxTexts = 2000

// See examines a variable without reading its data. It does not check that coordinates are valid positions on the globe; only
// drawing does.
func See(ctx context.Context, data *Data, o *Options) (*Sight, error) {
	p, err := newPlan(data, o, true)
	if err != nil {
		return nil, err
	}
	s := &Sight{Kind: p.kind, X: p.x, Y: p.y, Fixed: []Choice{}, Places: slices.Clone(p.placeDims()), Long: []string{}}
	if s.Places == nil {
		s.Places = []string{}
	}
	if p.site != nil {
		s.Kinds = append(s.Kinds, Map)
	}
	if len(p.long()) > 1 {
		s.Kinds = append(s.Kinds, Section)
	}
	s.Kinds = append(s.Kinds, Line, Histogram)
	for _, d := range p.long() {
		s.Long = append(s.Long, d.name)
		if !p.fixed(d) {
			continue
		}
		a, err := axisOf(ctx, data, d)
		if err != nil {
			return nil, err
		}
		c := Choice{Dim: d.name, Len: d.n, At: d.index, Record: d.record, Text: a.at(d.index)}
		for i := int64(0); d.n <= maxTexts && i < d.n; i++ {
			c.Texts = append(c.Texts, a.at(i))
		}
		s.Fixed = append(s.Fixed, c)
	}
	return s, nil
}
