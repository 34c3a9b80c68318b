package bench

import (
	"context"
)

// What the simulation assumes of any machine.
const (
	scaleStream  = 0.5  // GiB/s of one writing process
	scaleLock    = 1e-3 // seconds for a lock to go to another node
	scaleMake    = 5e-5 // seconds of the metadata server for each file
	scaleWindow  = 16 << 20
	ScalePerNode = 64 // ranks
)

// scaleTry is one way to use files, and the rate of the model in GiB/s.
type scaleTry struct {
	Ranks       int     `json:"ranks"`
	Case        string  `json:"case"` // whose bytes for each rank
	Files       string  `json:"files"`
	Subfiles    int     `json:"subfiles"`
	Stripes     int     `json:"stripes"` // servers of a file
	Aggregators int     `json:"aggregators"`
	Dealt       bool    `json:"dealt"`
	Across      bool    `json:"across"`
	Seconds     float64 `json:"seconds"`
	Rate        float64 `json:"rate"`
}

// Scale is what `blobio bench scale` prints.
type Scale struct {
	Params ScaleParams            `json:"params"`
	Fit    []ScalePoint           `json:"fit"`   // of Cori
	Other  []ScalePoint           `json:"other"` // of Summit, with the same parameters
	Counts map[string]scaleCounts `json:"counts"`
	Rows   map[string][]ScaleRow  `json:"rows"` // by layout
	Files  []scaleTry             `json:"files"`
	Aggs   []scaleTry             `json:"aggregators"`
}

// NewScale works all of it out; dir is for a small dataset whose collectives are counted.
func NewScale(ctx context.Context, dir string) (*Scale, error) {
	cases, err := scaleCases()
	if err != nil {
		return nil, err
	}
	cori, summit := cori(), summit()
	s := &Scale{Params: fitScale(cori, cases), Counts: map[string]scaleCounts{}, Rows: map[string][]ScaleRow{}}
	s.Fit, s.Other = cori.Points(&s.Params, cases), summit.Points(&s.Params, cases)
	const counted, maps, extents = 64, 3, 429
	f := &cases[0]
	for _, l := range layouts {
		n, err := countScale(ctx, dir, counted, counted/4, l)
		if err != nil {
			return nil, err
		}
		s.Counts[l.String()] = n
		for _, ranks := range []int{10000, 21600, 100000, 1000000} {
			s.Rows[l.String()] = append(s.Rows[l.String()], n.Extrapolate(ranks, ScalePerNode, f.Bytes/int64(f.Ranks), f.Writes(ScalePerNode, l), maps, extents, l))
		}
	}
	for _, c := range cases[:2] {
		for _, ranks := range []int{10000, 100000, 1000000} {
			nodes := (ranks + ScalePerNode - 1) / ScalePerNode
			for _, w := range []struct {
				files             string
				subfiles, stripes int
				dealt, across     bool
			}{
				{"one to a node", nodes, 1, true, false},
				{"one to 16 nodes", (nodes + 15) / 16, 16, true, false},
				{"one, units dealt", 1, cori.Servers, true, false},
				{"one, units in turn", 1, cori.Servers, false, false},
				{"one, units not heeded", 1, cori.Servers, false, true},
			} {
				t := scaleTry{Ranks: ranks, Case: c.Name, Files: w.files, Subfiles: w.subfiles, Stripes: w.stripes, Aggregators: 1, Dealt: w.dealt, Across: w.across}
				t.try(cori, &s.Params, &c)
				s.Files = append(s.Files, t)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		for _, n := range []int{1, 2, 4, 16} {
			t := scaleTry{Ranks: c.Ranks, Case: c.Name, Files: "one to a node", Subfiles: (c.Ranks + ScalePerNode - 1) / ScalePerNode, Stripes: 1, Aggregators: n}
			t.try(cori, &s.Params, &c)
			s.Aggs = append(s.Aggs, t)
		}
	}
	return s, nil
}

func (t *scaleTry) try(s *ScaleSystem, q *ScaleParams, c *scaleCase) {
	bytes := c.Bytes / int64(c.Ranks) * int64(t.Ranks)
	t.Seconds = s.Simulate(q, ScalePlan{Nodes: (t.Ranks + ScalePerNode - 1) / ScalePerNode, RanksPerNode: ScalePerNode, Subfiles: t.Subfiles,
		Aggregators: t.Aggregators, Bytes: bytes, Pieces: c.Pieces, Process: true, Window: scaleWindow, Stripes: t.Stripes,
		Dealt: t.Dealt, Across: t.Across, Stream: scaleStream, Lock: scaleLock, Make: scaleMake})
	t.Rate = float64(bytes) / gib / t.Seconds
}
