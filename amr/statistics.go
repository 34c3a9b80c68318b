package amr

import (
	"slices"
	"strings"

	"blobio/sfc"
)

// LevelStatistics are sums over the blocks of a level.
type LevelStatistics struct {
	Level  int     `json:"level"`
	Blocks int     `json:"blocks"`
	Leaves int     `json:"leaves"`
	Cells  int64   `json:"cells"` // of leaf blocks
	Share  float64 `json:"share"` // of the domain that leaf blocks cover, 0 to 1
	Bytes  int64   `json:"bytes"` // of all blocks
}

// LevelsOf sums up the blocks of a tree, coarsest level first; bytes are those of each block of index.
func LevelsOf(t *Tree, g *Geometry, index []Index, bytes []int64) []LevelStatistics {
	per := int64(1)
	for a := range g.Rank {
		per *= int64(g.Block[a])
	}
	var out []LevelStatistics
	lo, hi := t.Levels()
	for l := lo; l <= hi; l++ {
		out = append(out, LevelStatistics{Level: l})
	}
	for i, x := range index {
		l := &out[x.Level()-lo]
		l.Blocks++
		l.Bytes += bytes[i]
		if t.Leaf(x) {
			l.Leaves++
			l.Cells += per
			l.Share += x.Share(g)
		}
	}
	return out
}

// Share is the part of the domain that a block covers, 0 to 1.
func (x Index) Share(g *Geometry) float64 {
	lo, hi := x.Bounds(g)
	s := 1.0
	for a := range g.Rank {
		s *= (hi[a] - lo[a]) / (g.Upper[a] - g.Lower[a])
	}
	return s
}

// OrderOf tells along which curve blocks are: morton, hilbert, roots or other.
func OrderOf(t *Tree, index []Index) string {
	for _, o := range []Ordering{Morton{}, Hilbert{}, RootBlocks{}} {
		if slices.Equal(index, o.Order(t)) {
			return strings.TrimPrefix(o.Name(), "order_")
		}
	}
	return "other"
}

// Balance is how even parts are.
type Balance struct {
	Most       float64 `json:"most"`
	Mean       float64 `json:"mean"`
	Efficiency float64 `json:"efficiency"` // mean over most
}

// BalanceOf is that of a measure.
func BalanceOf(q sfc.Quality) Balance { return Balance{q.Max, q.Mean, q.Eff} }

// Plan is one way of dealing blocks to ranks.
type Plan struct {
	Ranks int    `json:"ranks"`
	By    string `json:"by"` // what each rank has as much of: blocks, bytes or cost
	Balance
	Surface float64 `json:"surface"` // faces between leaves of different ranks, of all
}

// PlansOf deals the blocks of a tree, in the order of index, to ranks: evenly by number, by bytes, and by cost if any has one.
func PlansOf(t *Tree, index []Index, bytes []int64, cost []float64, ranks int) (out []Plan) {
	add := func(by string, starts []int, w []float64) {
		q := Quality(t, index, starts, w)
		p := Plan{Ranks: ranks, By: by, Balance: BalanceOf(q)}
		if q.Faces > 0 {
			p.Surface = float64(q.Surface) / float64(q.Faces)
		}
		out = append(out, p)
	}
	size := make([]float64, len(bytes))
	for i, n := range bytes {
		size[i] = float64(n)
	}
	add("blocks", sfc.ByCount(len(index), ranks), nil)
	add("bytes", sfc.ByWeight(size, ranks), size)
	if slices.ContainsFunc(cost, func(c float64) bool { return c > 0 }) {
		add("cost", sfc.ByWeight(cost, ranks), cost)
	}
	return out
}
