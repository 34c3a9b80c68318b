package mesh

import (
	"slices"
	"strings"

	"blobio/amr/cello"
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
)

// Levels, and the balance of parts, in the JSON of ls.
type (
	// amrLevel has totals over the blocks of a level.
	amrLevel struct {
		Level  int     `json:"level"`
		Blocks int     `json:"blocks"`
		Leaves int     `json:"leaves"`
		Cells  int64   `json:"cells"` // in leaf blocks
		Share  float64 `json:"share"` // fraction of the domain covered by leaf blocks
		Bytes  int64   `json:"bytes"` // in all blocks
	}
	amrBalance struct {
		Most       float64 `json:"most"`
		Mean       float64 `json:"mean"`
		Efficiency float64 `json:"efficiency"` // mean divided by maximum
	}
	// amrPlan is one distribution of blocks to ranks.
	amrPlan struct {
		Ranks int    `json:"ranks"`
		By    string `json:"by"` // the balanced quantity: blocks, bytes or cost
		amrBalance
		Surface float64 `json:"surface"` // fraction of leaf faces between different ranks
	}
)

// levels sums up the blocks by level, coarsest level first.
func (m *amrMesh) levels() (out []amrLevel) {
	g := &m.Meta().Geometry
	lo, hi := m.Tree().Levels()
	for l := lo; l <= hi; l++ {
		out = append(out, amrLevel{Level: l})
	}
	for _, b := range m.Blocks() {
		l := &out[b.Level-lo]
		l.Blocks++
		l.Bytes += b.Bytes
		if b.Leaf {
			l.Leaves++
			l.Cells += int64(g.Block[0]) * int64(g.Block[1]) * int64(g.Block[2])
			l.Share += share(g, b.Index)
		}
	}
	return out
}

// share returns the fraction of the domain that a block covers.
func share(g *amr.Geometry, x amr.Index) float64 {
	lo, hi := x.Bounds(g)
	s := 1.0
	for a := range g.Rank {
		s *= (hi[a] - lo[a]) / (g.Upper[a] - g.Lower[a])
	}
	return s
}

// order returns the curve that orders the blocks: morton, hilbert, roots or other.
func (m *amrMesh) order() string {
	have := m.indexes()
	for _, o := range []amr.Ordering{amr.Morton{}, amr.Hilbert{}, amr.RootBlocks{}} {
		if slices.Equal(have, o.Order(m.Tree())) {
			return strings.TrimPrefix(o.Name(), "order_")
		}
	}
	return "other"
}

func balanceOf(q sfc.Quality) amrBalance { return amrBalance{q.Max, q.Mean, q.Eff} }

// plans distributes the blocks to ranks: evenly by number, by bytes, and by cost if any block has one.
func (m *amrMesh) plans(ranks int) (out []amrPlan, err error) {
	ways := []string{"blocks", "bytes"}
	if slices.ContainsFunc(m.Blocks(), func(b cello.BlockInfo) bool { return b.Cost > 0 }) {
		ways = append(ways, "cost")
	}
	for _, by := range ways {
		_, q, err := m.Plan(ranks, by)
		if err != nil {
			return nil, err
		}
		p := amrPlan{Ranks: ranks, By: by, amrBalance: balanceOf(q)}
		if q.Faces > 0 {
			p.Surface = float64(q.Surface) / float64(q.Faces)
		}
		out = append(out, p)
	}
	return out, nil
}
