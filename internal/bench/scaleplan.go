package bench

import (
	"context"
)

// ScalePerNode is the ranks of a node in what is worked out for more of them.
const ScalePerNode = 64

// scaleTry is one way to use files. Published runs have a file to each node, so that they do not tell whether what grows with
// the nodes is a cost of the files, or of the nodes and their ranks: both are worked out.
type scaleTry struct {
	Ranks    int     `json:"ranks"`
	Case     string  `json:"case"` // whose bytes for each rank
	Files    string  `json:"files"`
	Subfiles int     `json:"subfiles"`
	Stripes  int     `json:"stripes"`       // servers of a file
	IfFiles  float64 `json:"rate_if_files"` // GiB/s
	IfNodes  float64 `json:"rate_if_nodes"`
	Beyond   bool    `json:"beyond"` // more nodes than any published run: no interval is known
}

// Scale is what `blobio bench scale` prints.
type Scale struct {
	Tests    []ScaleTest            `json:"tests"`
	Interval float64                `json:"interval"` // a factor: published rates are within it of the model's, 19 of 20
	Points   int                    `json:"points"`   // that it is made of
	Counts   map[string]scaleCounts `json:"counts"`
	Rows     map[string][]ScaleRow  `json:"rows"` // by layout
	Files    []scaleTry             `json:"files"`
}

// NewScale works all of it out; dir is for a small dataset whose collectives are counted.
func NewScale(ctx context.Context, dir string) (*Scale, error) {
	cases, err := scaleCases()
	if err != nil {
		return nil, err
	}
	cori, summit := cori(), summit()
	s := &Scale{Tests: []ScaleTest{tryScale(cori, summit, cases), tryScale(summit, cori, cases)}, Counts: map[string]scaleCounts{}, Rows: map[string][]ScaleRow{}}
	s.Interval, s.Points = scaleInterval(s.Tests)
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
	known := 0 // nodes of the largest published run
	for _, p := range cori.Published {
		known = max(known, p.Nodes)
	}
	for _, c := range cases[:2] {
		for _, ranks := range []int{10000, 21600, 100000} {
			nodes := (ranks + ScalePerNode - 1) / ScalePerNode
			for _, w := range []struct {
				files             string
				subfiles, stripes int
			}{{"one to a node", nodes, 1}, {"one to 16 nodes", (nodes + 15) / 16, 16}, {"one for all", 1, cori.Servers}} {
				t := scaleTry{Ranks: ranks, Case: c.Name, Files: w.files, Subfiles: w.subfiles, Stripes: w.stripes, Beyond: nodes > known}
				bytes := c.Bytes / int64(c.Ranks) * int64(ranks)
				rate := func(growing int) float64 {
					return float64(bytes) / gib / cori.Seconds(&s.Tests[0].Params, ScalePlan{Nodes: nodes, Subfiles: w.subfiles, Stripes: w.stripes, Bytes: bytes, Pieces: c.Pieces, Process: true, Growing: growing})
				}
				t.IfFiles, t.IfNodes = rate(w.subfiles), rate(nodes)
				s.Files = append(s.Files, t)
			}
		}
	}
	return s, nil
}
