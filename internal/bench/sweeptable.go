package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// SweepTable is the preview of a plan.
type SweepTable struct {
	Points  []SweepPoint `json:"points"`
	Left    []SweepSkip  `json:"left_out"`
	Runs    int          `json:"runs"`
	Bytes   []int64      `json:"bytes"`   // approximate file size of each point
	Largest int64        `json:"largest"` // maximum of Bytes
	Written int64        `json:"written"` // total of all runs
}

// Table computes the preview with a few small maps, without writing files.
func (p SweepPlan) Table(ctx context.Context) (*SweepTable, error) {
	if err := p.fill(); err != nil {
		return nil, err
	}
	if p.Targets == 0 {
		fs := newLustre(p.Dir)
		p.Targets = fs.targets(ctx, p.Dir)
	}
	x := &SweepTable{}
	x.Points, x.Left = p.Points(p.Targets)
	x.Runs = len(x.Points) * p.Repeats
	sizes := map[string]int64{}
	for _, pt := range x.Points {
		key := pt["case"]
		if p.Weak {
			key += " " + pt["ranks"]
		}
		if _, ok := sizes[key]; !ok {
			t, err := p.task(pt, 1)
			if err != nil {
				return nil, err
			}
			sizes[key] = t.fileBytes()
		}
		n := sizes[key]
		x.Bytes = append(x.Bytes, n)
		x.Largest = max(x.Largest, n)
		x.Written += n * int64(p.Repeats)
	}
	if p.Space > 0 && x.Largest > p.Space {
		k := slices.Index(x.Bytes, x.Largest)
		return x, fmt.Errorf("a dataset has about %d bytes (%s), but the space limit is %d", x.Largest, p.PointName(x.Points[k]), p.Space)
	}
	return x, nil
}

// PointName names a point by the varied axes.
func (p *SweepPlan) PointName(pt SweepPoint) string {
	var list []string
	for _, a := range p.Varied() {
		list = append(list, a+" "+AxisText(a, pt[a]))
	}
	if len(list) == 0 {
		list = []string{pt["case"], pt["ranks"] + " ranks"}
	}
	return strings.Join(list, ", ")
}
