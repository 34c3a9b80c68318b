package fieldplot

import (
	"context"
	"slices"
)

// A Sight is what can be seen of a variable: the kind of picture that options ask for, the other kinds, and the dimensions along
// which the picture stands at one element.
type Sight struct {
	Kind   Kind     `json:"kind"`
	Kinds  []Kind   `json:"kinds"`
	X      string   `json:"x,omitempty"` // dimensions of a section or line
	Y      string   `json:"y,omitempty"`
	Long   []string `json:"long"` // dimensions of several elements
	Fixed  []Choice `json:"fixed"`
	Places []string `json:"places"` // dimensions of places on the globe
}

// A Choice is a dimension along which one element is chosen.
type Choice struct {
	Dim    string   `json:"dim"`
	Len    int64    `json:"length"`
	At     int64    `json:"index"`
	Record bool     `json:"record"`
	Text   string   `json:"text"`            // where it stands, in words
	Texts  []string `json:"texts,omitempty"` // of all elements, unless they are too many
}

// maxTexts bounds the elements of a dimension that are all listed in words.
const maxTexts = 2000

// See looks at a variable without reading its data. It does not check whether the coordinates are valid positions on the globe;
// that is checked only when the variable is drawn.
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
