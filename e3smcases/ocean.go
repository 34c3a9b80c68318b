package e3smcases

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// oceanShare is the fraction of the sphere that is ocean in the G case.
const oceanShare = 0.71

// maxCells is the maximum number of cells of a mesh. The largest meshes in use have 4 million cells.
const maxCells = 50_000_000

// coarse is the number of points below which a mesh does not resolve islands and straits. Below it the coast is smoothed, so that
// small islands do not break up the ocean.
const coarse = 20_000

// ocean is the mesh of the G case: the cells of a geodesic that lie in the ocean, numbered 0 to cells-1.
//
// Points of coarser lattices come first, as in meshes made by refinement, such as the meshes of MPAS-Ocean. Edges and vertices
// are numbered cell by cell. Each edge or vertex belongs to the lowest cell that it touches.
type ocean struct {
	g        geodesic
	cells    int
	number   []int32   // cell of each point, -1 on land
	x, y, z  []float32 // direction of each cell
	edge     []int32   // edges of cell c are edge[c] to edge[c+1]-1
	vertex   []int32   // vertices of cell c, in the same way
	distance []float32 // distance of each cell from the coast in degrees, negative in the ocean
}

func newOcean(cells int, seed int64) (*ocean, error) {
	if cells < 1 || cells > maxCells {
		return nil, fmt.Errorf("G: %d cells, want 1 to %d", cells, maxCells)
	}
	land, err := newTerrain(seed)
	if err != nil {
		return nil, err
	}
	o := &ocean{cells: cells}
	want := float64(cells) / oceanShare
	o.g.f = max(1, int(math.Round(math.Sqrt(math.Max(want-2, 0)/10))))
	for o.g.points() < cells {
		o.g.f++
	}
	o.choose(land)
	o.countEdges()
	return o, nil
}

// choose selects and numbers the cells that are deepest in the ocean.
func (o *ocean) choose(land *terrain) {
	n := o.g.points()
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	depth := make([]float32, n)
	key := make([]uint64, n)
	o.g.eachPoint(func(id int32, face, b, c int) {
		if key[id] != 0 {
			return
		}
		p := o.g.position(face, b, c)
		r := 1 / math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2])
		x[id], y[id], z[id] = quantize(p[0]*r), quantize(p[1]*r), quantize(p[2]*r)
		depth[id] = float32(land.at(sphere(p[0], p[1], p[2])))
		key[id] = orderKey(face, b, c)<<31 | uint64(id)
	})
	if n < coarse {
		for range 3 {
			depth = o.smooth(depth)
		}
	}
	sorted := slices.Clone(depth)
	slices.Sort(sorted)
	limit := sorted[o.cells-1]
	ties := o.cells // number of cells exactly at the limit to select
	for _, d := range sorted[:o.cells] {
		if d < limit {
			ties--
		}
	}
	slices.Sort(key)
	o.number = make([]int32, n)
	o.x, o.y, o.z = make([]float32, 0, o.cells), make([]float32, 0, o.cells), make([]float32, 0, o.cells)
	o.distance = make([]float32, 0, o.cells)
	for _, k := range key {
		id := int32(k & (1<<31 - 1))
		o.number[id] = -1
		if depth[id] > limit {
			continue
		}
		if depth[id] == limit {
			if ties == 0 {
				continue
			}
			ties--
		}
		o.number[id] = int32(len(o.x))
		o.x, o.y, o.z = append(o.x, x[id]), append(o.y, y[id]), append(o.z, z[id])
		o.distance = append(o.distance, depth[id])
	}
}

// quantize rounds to 2^-20 (6 m on the Earth). The lattice has many symmetric points. The last bits of their coordinates differ
// between processors and would change the order.
func quantize(x float64) float32 { return float32(math.Round(x*(1<<20)) / (1 << 20)) }

// smooth returns for each point the mean of the values of the point and its neighbours.
func (o *ocean) smooth(v []float32) []float32 {
	sum, count := slices.Clone(v), make([]float32, len(v))
	o.g.eachEdge(func(p, q int32) {
		sum[p] += v[q]
		sum[q] += v[p]
		count[p]++
		count[q]++
	})
	for i := range sum {
		sum[i] = quantize(float64(sum[i] / (count[i] + 1)))
	}
	return sum
}

// orderKey returns the sort key of a point in the numbering: first by three levels of refinement, then by face, then along a
// Z-shaped curve. The key is above 0 and below 2^33.
func orderKey(face, b, c int) uint64 {
	level := min(bits.TrailingZeros(uint(b)), bits.TrailingZeros(uint(c)), 3)
	return uint64(3-level)<<31 | uint64(face+1)<<26 | spread(b)<<1 | spread(c)
}

// spread inserts a zero bit between the low 13 bits of v.
func spread(v int) (s uint64) {
	for i := range 13 {
		s |= uint64(v>>i&1) << (2 * i)
	}
	return s
}

// lowest returns the lowest cell among points, -1 if all points are land.
func (o *ocean) lowest(points ...int32) int32 {
	low := int32(-1)
	for _, p := range points {
		if n := o.number[p]; n >= 0 && (low < 0 || n < low) {
			low = n
		}
	}
	return low
}

// countEdges sets edge and vertex.
func (o *ocean) countEdges() {
	o.edge, o.vertex = make([]int32, o.cells+1), make([]int32, o.cells+1)
	o.g.eachEdge(func(p, q int32) {
		if c := o.lowest(p, q); c >= 0 {
			o.edge[c+1]++
		}
	})
	o.g.eachTriangle(func(p, q, r int32) {
		if c := o.lowest(p, q, r); c >= 0 {
			o.vertex[c+1]++
		}
	})
	for c := range o.cells {
		o.edge[c+1] += o.edge[c]
		o.vertex[c+1] += o.vertex[c]
	}
}

// partition cuts the cells into parts of nearly equal size by recursive bisection across the longest extent. It returns the part
// of each cell.
func (o *ocean) partition(parts int) []int32 {
	owner := make([]int32, o.cells)
	list := make([]int32, o.cells)
	for i := range list {
		list[i] = int32(i)
	}
	o.bisect(list, 0, parts, owner)
	return owner
}

func (o *ocean) bisect(list []int32, first, parts int, owner []int32) {
	if len(list) == 0 {
		return
	}
	if parts == 1 {
		for _, c := range list {
			owner[c] = int32(first)
		}
		return
	}
	axis := o.x
	longest := float32(-1)
	for _, a := range [][]float32{o.x, o.y, o.z} {
		lo, hi := a[list[0]], a[list[0]]
		for _, c := range list {
			lo, hi = min(lo, a[c]), max(hi, a[c])
		}
		if hi-lo > longest {
			axis, longest = a, hi-lo
		}
	}
	half := parts / 2
	k := int(int64(len(list)) * int64(half) / int64(parts))
	selectKth(list, k, axis)
	o.bisect(list[:k], first, half, owner)
	o.bisect(list[k:], first+half, parts-half, owner)
}

// selectKth reorders list so that its k lowest by (axis, number) come first.
func selectKth(list []int32, k int, axis []float32) {
	less := func(a, b int32) bool {
		if axis[a] != axis[b] {
			return axis[a] < axis[b]
		}
		return a < b
	}
	lo, hi := 0, len(list)-1
	for lo < hi {
		mid := lo + (hi-lo)/2
		// median of three as pivot, at mid
		if less(list[mid], list[lo]) {
			list[mid], list[lo] = list[lo], list[mid]
		}
		if less(list[hi], list[lo]) {
			list[hi], list[lo] = list[lo], list[hi]
		}
		if less(list[hi], list[mid]) {
			list[hi], list[mid] = list[mid], list[hi]
		}
		pivot := list[mid]
		i, j := lo, hi
		for i <= j {
			for less(list[i], pivot) {
				i++
			}
			for less(pivot, list[j]) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}
