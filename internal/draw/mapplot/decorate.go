package mapplot

import (
	"fmt"
	"math"

	"blobio/internal/draw/chart"
)

// heading writes the lines above the map, and returns their bottom, in whole points.
func (p *Plot) heading(d *chart.Pen) int {
	return int(math.Ceil(d.Heading(margin, margin-10, p.Width-2*margin, p.title, p.subtitle))) + 3
}

// decorate draws everything except the map: heading, frame, graticule, legend. It returns the bottom.
func (p *Plot) decorate(d *chart.Pen) float64 {
	p.heading(d)
	bottom, w := p.area.Y+p.area.H, p.area.W
	if p.view == nil {
		d.Frame(chart.Rule, 0.75, p.area)
	} else {
		bottom = p.view.Draw(d, p.area)
	}
	d.Write(p.note, margin, bottom+14, w, chart.Style{Size: 9, Color: chart.Soft})
	return p.legend(d, bottom+26, w)
}

// legend draws the colours of the ranks below y, and returns the bottom.
func (p *Plot) legend(d *chart.Pen, y, w float64) float64 {
	if p.ranks <= chart.Few {
		l := chart.Legend{Lead: "rank", Even: true}
		for r, c := range p.colors {
			l.Keys = append(l.Keys, chart.Area(fmt.Sprint(r), c))
		}
		y = l.Draw(d, margin, y, w)
	} else {
		s := chart.Strip{Colors: p.colors, Name: func(r int) string {
			if r == 0 {
				return "rank 0"
			}
			return chart.Count(int64(r))
		}}
		y = s.Draw(d, margin, y, w)
	}
	l := chart.Legend{Keys: p.keys}
	return l.Draw(d, margin, y, w)
}
