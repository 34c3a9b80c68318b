package amr

import (
	"blobio/internal/base/fault"
	"fmt"
	"math"
)

// Geometry is the common description of all blocks of a tree. Axes are x, y, z. Axes beyond Rank have one root block, one cell
// and no ghosts.
type Geometry struct {
	Rank         int        // 1 to 3
	Roots        [3]int     // number of root blocks (octrees) per axis
	Block        [3]int     // number of cells of a block per axis, without ghosts
	Ghost        [3]int     // number of ghost cells on each side of each axis
	Lower, Upper [3]float64 // the domain
	Periodic     [3]bool
	MinLevel     int // coarsest level, <= 0
	MaxLevel     int // finest level allowed, >= 0
}

// Validate checks all values, including axes beyond Rank. The error is of class ErrUsage.
func (g *Geometry) Validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("geometry: "+format+": %w", append(a, fault.ErrUsage)...)
	}
	if g.Rank < 1 || g.Rank > 3 {
		return bad("rank %d, want 1 to 3", g.Rank)
	}
	if g.MinLevel < MinLevel || g.MinLevel > 0 {
		return bad("coarsest level %d, want %d to 0", g.MinLevel, MinLevel)
	}
	if g.MaxLevel < 0 || g.MaxLevel > MaxDepth {
		return bad("finest level %d, want 0 to %d", g.MaxLevel, MaxDepth)
	}
	for i := range 3 {
		axis := "xyz"[i : i+1]
		if g.Roots[i] < 1 || g.Roots[i] > MaxRoots {
			return bad("%d root blocks along %s, want 1 to %d", g.Roots[i], axis, MaxRoots)
		}
		if g.Block[i] < 1 || g.Block[i] > math.MaxInt32 {
			return bad("blocks of %d cells along %s, want 1 to %d", g.Block[i], axis, math.MaxInt32)
		}
		if g.Ghost[i] < 0 || g.Ghost[i] > math.MaxInt32/4 {
			return bad("%d ghosts along %s, want 0 to %d", g.Ghost[i], axis, math.MaxInt32/4)
		}
		if i >= g.Rank {
			if g.Roots[i] != 1 || g.Block[i] != 1 || g.Ghost[i] != 0 {
				return bad("axis %s beyond rank %d: %d root blocks, %d cells, %d ghosts, want 1, 1, 0", axis, g.Rank, g.Roots[i], g.Block[i], g.Ghost[i])
			}
		} else if !(g.Lower[i] < g.Upper[i]) {
			return bad("domain from %g to %g along %s, want ascending limits", g.Lower[i], g.Upper[i], axis)
		}
	}
	return nil
}

// Children returns the number of children of a refined block, 2^Rank.
func (g *Geometry) Children() int { return 1 << g.Rank }

// Extent returns the maximum number of blocks of a level along each axis: Roots << level, or Roots >> -level rounded up.
func (g *Geometry) Extent(level int) [3]int {
	var n [3]int
	for i, r := range g.Roots {
		switch {
		case i >= g.Rank:
			n[i] = 1
		case level >= 0:
			n[i] = r << uint(min(level, MaxDepth))
		default:
			n[i] = (r-1)>>uint(-level) + 1
		}
	}
	return n
}

// Contains checks that x is a valid index of a block within the domain and its levels. The error is of class ErrCorrupt or
// ErrRange.
func (g *Geometry) Contains(x Index) error {
	if err := x.Valid(g.Rank); err != nil {
		return err
	}
	l := x.Level()
	if l < g.MinLevel || l > g.MaxLevel {
		return fmt.Errorf("index %d: level %d, want %d to %d: %w", x, l, g.MinLevel, g.MaxLevel, fault.ErrRange)
	}
	n, c := g.Extent(l), x.Coord()
	for i := range n {
		if c[i] >= n[i] {
			return fmt.Errorf("index %d: block %d along %s, want < %d: %w", x, c[i], "xyz"[i:i+1], n[i], fault.ErrRange)
		}
	}
	return nil
}

// Shape returns the number of elements (mx, my, mz) of a field of one block. The number on an axis is the number of cells, plus
// one on a face-centred axis, plus the ghosts on both sides if ghosts is true. It is 1 on axes beyond Rank.
func (g *Geometry) Shape(s *FieldSpec, ghosts bool) [3]int {
	var m [3]int
	for i := range m {
		m[i] = 1
		if i >= g.Rank {
			continue
		}
		m[i] = g.Block[i]
		if s.Centered[i] {
			m[i]++
		}
		if ghosts {
			m[i] += 2 * g.Ghost[i]
		}
	}
	return m
}

// FieldBytes returns the size of a field of one block in bytes.
func (g *Geometry) FieldBytes(s *FieldSpec, ghosts bool) int64 {
	m := g.Shape(s, ghosts)
	return int64(m[0]) * int64(m[1]) * int64(m[2]) * int64(s.Type.Size())
}

// Strip copies the elements of a field with ghosts to dst without the ghosts. The size of dst is FieldBytes(s, false).
func (g *Geometry) Strip(dst, data []byte, s *FieldSpec) {
	from, to, size := g.Shape(s, true), g.Shape(s, false), s.Type.Size()
	row := to[0] * size
	for z := range to[2] {
		for y := range to[1] {
			at := (((z+g.Ghost[2])*from[1]+y+g.Ghost[1])*from[0] + g.Ghost[0]) * size
			copy(dst[(z*to[1]+y)*row:][:row], data[at:])
		}
	}
}

// Bounds returns the corners of a block, computed as in Cello. For levels >= 0 they equal the attributes `lower` and `upper` of a
// checkpoint to the last bit. On axes beyond g.Rank, Bounds returns the bounds of the domain. If the number of root blocks is not
// a power of two, blocks of levels below 0 may extend beyond the domain, and Bounds cuts them at the border.
func (x Index) Bounds(g *Geometry) (lo, hi [3]float64) {
	l, c := x.Level(), x.Coord()
	for i := range 3 {
		if i >= g.Rank {
			lo[i], hi[i] = g.Lower[i], g.Upper[i]
			continue
		}
		at := func(c int) float64 {
			a := math.Min(math.Ldexp(float64(c), -l)/float64(g.Roots[i]), 1)
			// The conversions prevent the fusion of the products with the sum, which would change the last bit.
			return float64((1-a)*g.Lower[i]) + float64(a*g.Upper[i])
		}
		lo[i], hi[i] = at(c[i]), at(c[i]+1)
	}
	return lo, hi
}

// CellWidth returns the width of a cell at a level. On axes beyond Rank it returns the width of the domain.
func (g *Geometry) CellWidth(level int) [3]float64 {
	var h [3]float64
	for i := range h {
		h[i] = g.Upper[i] - g.Lower[i]
		if i < g.Rank {
			h[i] = math.Ldexp(h[i]/float64(g.Roots[i])/float64(g.Block[i]), -level)
		}
	}
	return h
}
