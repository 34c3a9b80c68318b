package bench

import (
	"context"
)

// ScalePerNode is the ranks of a node in what is worked out for more of them.
const ScalePerNode = 64

// Scale is what `blobio bench scale` prints, by layout.
type Scale struct {
	Counts map[string]scaleCounts `json:"counts"`
	Rows   map[string][]ScaleRow  `json:"rows"`
}

// NewScale works all of it out; dir is for a small dataset whose collectives are counted.
func NewScale(ctx context.Context, dir string) (*Scale, error) {
	f, err := atProduction()
	if err != nil {
		return nil, err
	}
	s := &Scale{Counts: map[string]scaleCounts{}, Rows: map[string][]ScaleRow{}}
	const counted, maps, extents = 64, 3, 429
	for _, l := range layouts {
		n, err := countScale(ctx, dir, counted, counted/4, l)
		if err != nil {
			return nil, err
		}
		s.Counts[l.String()] = n
		for _, ranks := range []int{10000, 21600, 100000, 1000000} {
			s.Rows[l.String()] = append(s.Rows[l.String()], n.Extrapolate(ranks, ScalePerNode, f.bytes, f.Writes(ScalePerNode, l), maps, extents, l))
		}
	}
	return s, nil
}
