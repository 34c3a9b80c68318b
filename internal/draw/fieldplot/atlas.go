package fieldplot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"blobio/internal/base/cache"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
	"blobio/internal/draw/globe"
)

// An Atlas draws pictures and caches them with the grids of their maps. It is safe for concurrent use.
type Atlas struct {
	grids    *cache.Cache[string, *grid]
	pictures *cache.Cache[string, *Picture]
	making   chan struct{} // limits concurrent grid construction, which needs memory
}

// NewAtlas makes an Atlas that caches up to memory bytes: one third for grids, the rest for pictures. It always caches at least
// one grid and one picture. 0 means 64 MiB. The construction of a grid needs up to 100 MiB more. Only one grid is constructed at
// a time.
func NewAtlas(memory int64) *Atlas {
	if memory == 0 {
		memory = 64 << 20
	}
	return &Atlas{cache.New[string](memory/3, (*grid).bytes), cache.New[string](memory-memory/3, (*Picture).bytes), make(chan struct{}, 1)}
}

// Draw draws a variable of a dataset, or returns the cached picture. Errors of class ErrUsage mean that the options do not suit
// the dataset.
func (a *Atlas) Draw(ctx context.Context, data *Data, o *Options) (*Picture, error) {
	coords := ""
	if o.Coords != nil {
		coords = o.Coords.ID
	}
	keyed := *o
	keyed.Coords = nil
	key := fmt.Sprintf("%q %q %+v", data.ID, coords, keyed) // %+v prints maps in key order
	return a.pictures.Make(ctx, key, func() (*Picture, error) { return a.draw(ctx, data, o) })
}

func (a *Atlas) draw(ctx context.Context, data *Data, o *Options) (*Picture, error) {
	p, err := newPlan(data, o, true)
	if err != nil {
		return nil, err
	}
	if p.kind == Map {
		g, err := a.grid(ctx, p)
		if err == nil {
			return p.drawMap(ctx, g)
		}
		if !errors.Is(err, errNowhere) {
			return nil, err
		}
		note := p.site.noPositions()
		if o.Kind == Map || o.Generated {
			return nil, fault.Usage("%s cannot be drawn as a map: %s", o.Var, note)
		}
		if p, err = newPlan(data, o, false); err != nil {
			return nil, err
		}
		p.note = note + "."
	}
	switch p.kind {
	case Section:
		return p.drawSection(ctx)
	case Line:
		return p.drawLine(ctx)
	}
	return p.drawHistogram(ctx)
}

func (a *Atlas) grid(ctx context.Context, p *plan) (*grid, error) {
	wide := (p.o.width() - 2*margin - 2*globe.Room) * chart.Scale
	key := fmt.Sprintf("%d %v %s", wide, p.o.Plate, p.site.key())
	return a.grids.Make(ctx, key, func() (*grid, error) {
		select {
		case a.making <- struct{}{}:
			defer func() { <-a.making }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return newGrid(ctx, p.site, p.o.Plate, wide, chart.Scale)
	})
}

// Value returns the spot at a point of the picture from Draw, in points from the upper left corner. It reads the element from the
// dataset, to get all digits. ok is false outside the data.
func (a *Atlas) Value(ctx context.Context, data *Data, o *Options, x, y float64) (s *Spot, ok bool, err error) {
	pic, err := a.Draw(ctx, data, o)
	if err != nil {
		return nil, false, err
	}
	if s, ok = pic.Spot(x, y); !ok {
		return nil, false, nil
	}
	if s.Notes = pic.Notes; len(s.Index) == 0 {
		return s, true, nil
	}
	p, err := newPlan(data, o, true)
	if err != nil {
		return nil, false, err
	}
	start, count := make([]int64, len(s.Index)), make([]int64, len(s.Index))
	for i := range s.Index {
		start[i], count[i] = s.Index[i].At, 1
	}
	var one [1]float64
	var stored any
	err = p.mean.Read(one[:], func(x any) error {
		stored = x
		return data.Reader.Read(ctx, p.v.Name, start, count, x)
	})
	if err != nil {
		return nil, false, err
	}
	s.Value = one[0]
	s.State, s.Text = p.value(one[0])
	if t := p.mean.Type(); s.State == Good && !t.Float() {
		values, _ := p.mean.Values(stored)
		if s.Whole = fmt.Sprint(elem.At(values, 0)); p.times == nil {
			s.Text = withUnit(strings.ReplaceAll(s.Whole, "-", "−"), unit(p.v))
		}
	}
	return s, true, nil
}
