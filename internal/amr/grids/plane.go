package grids

import (
	"context"
	"math"
	"sort"
)

// View is a window of a plane as pixels.
type View struct {
	Axis   int     // that the plane is normal to; 2 of two dimensions
	Across [2]int  // the axes to the right and up
	At     float64 // where the plane is, of a slice
	Lo, Hi [2]float64
	W, H   int
}

// NewView is the view of the whole domain along an axis, of pixels that are as wide as high; w is across. Of two dimensions the axis is 2.
func (m *Mesh) NewView(axis, w, most int) *View {
	v := &View{Axis: axis, Across: [3][2]int{{1, 2}, {0, 2}, {0, 1}}[axis], W: w}
	v.At = m.Lower[axis] + (m.Upper[axis]-m.Lower[axis])/2
	for k, a := range v.Across {
		v.Lo[k], v.Hi[k] = m.Lower[a], m.Upper[a]
	}
	v.Fit(w, most)
	return v
}

// Fit sets the pixels for the window: at most w across and most up.
func (v *View) Fit(w, most int) {
	tall := (v.Hi[1] - v.Lo[1]) / (v.Hi[0] - v.Lo[0])
	v.W, v.H = w, int(min(max(math.Round(float64(w)*tall), 20), 1e9))
	if v.H > most {
		v.W, v.H = max(int(float64(most)/tall), 20), most
	}
}

// Shown are the values of a view, from the lower left corner.
type Shown struct {
	*View
	Values   []float64 // NaN: none
	Level    []int8    // finest at the pixel, -1: none
	Boxes    []Edge    // that have cells in it
	Min, Max float64   // of the finite values; NaN if there are none
	Positive float64   // the smallest above 0
}

// Edge is the outline of a box, in the units of the domain.
type Edge struct {
	Lo, Hi [2]float64
	Level  int
}

// How says what a projection shows.
type How string

// Ways to project.
const (
	Integral How = "integral" // values times the length of the way through the cell
	Mean     How = "mean"     // the same over the length of the way
	Max      How = "max"
)

// columns are the cells of a level at the centres of pixels along an axis of the view; -1 is beside the domain.
func (m *Mesh) columns(v *View, level, k, n int) []int {
	a, l := v.Across[k], &m.Levels[level]
	out := make([]int, n)
	for i := range out {
		x := v.Lo[k] + (float64(i)+0.5)*(v.Hi[k]-v.Lo[k])/float64(n)
		c := math.Floor((x - m.Lower[a]) / l.Width[a])
		switch {
		case x < m.Lower[a]:
			out[i] = -1
		case x >= m.Upper[a] && x > m.Upper[a]:
			out[i] = l.Cells[a] // none
		default:
			out[i] = min(int(c), l.Cells[a]-1)
		}
	}
	return out
}

// pixels is what a view needs of each level.
type pixels struct {
	cols [2][]int
	cut  int // the cell of the axis that the plane is in
}

func (m *Mesh) pixels(v *View) []pixels {
	out := make([]pixels, len(m.Levels))
	for l := range out {
		out[l] = pixels{[2][]int{m.columns(v, l, 0, v.W), m.columns(v, l, 1, v.H)}, 0}
		if v.Axis < m.Rank {
			x := math.Floor((v.At - m.Lower[v.Axis]) / m.Levels[l].Width[v.Axis])
			out[l].cut = int(min(max(x, 0), float64(m.Levels[l].Cells[v.Axis]-1)))
		}
	}
	return out
}

// span are the pixels of a view that have cells from lo to below hi of an axis.
func span(cols []int, lo, hi int) (int, int) {
	return sort.SearchInts(cols, lo), sort.SearchInts(cols, hi)
}

// Slice shows a field in the plane.
func (m *Mesh) Slice(ctx context.Context, field int, v *View) (*Shown, error) {
	px := m.pixels(v)
	return m.show(ctx, field, v, px, func(l int, b *Box) bool { return b.Lo[v.Axis] <= px[l].cut && px[l].cut < b.Hi[v.Axis] },
		func(r ref, b *Box, values []float64, mask []bool) flat {
			n := b.Len()
			f := newFlat(n[v.Across[0]] * n[v.Across[1]])
			b.walk(v, func(at, i, depth int) {
				if depth == px[r.level].cut-b.Lo[v.Axis] && (mask == nil || !mask[i]) {
					f.sum[at], f.way[at] = values[i], 1
				}
			})
			return f
		}, func(s *Shown, way []float64, at int, x *flat, i int) {
			s.Values[at], way[at] = x.sum[i], 1
		}, nil)
}

// Project shows a field along the axis.
func (m *Mesh) Project(ctx context.Context, field int, v *View, how How) (*Shown, error) {
	px := m.pixels(v)
	return m.show(ctx, field, v, px, nil,
		func(r ref, b *Box, values []float64, mask []bool) flat {
			n := b.Len()
			f := newFlat(n[v.Across[0]] * n[v.Across[1]])
			b.walk(v, func(at, i, _ int) {
				if mask != nil && mask[i] {
					return
				}
				if f.way[at]++; how == Max {
					if f.way[at] == 1 || values[i] > f.sum[at] || f.sum[at] != f.sum[at] {
						f.sum[at] = values[i]
					}
					return
				}
				f.sum[at] += values[i]
			})
			return f
		}, func(s *Shown, way []float64, at int, x *flat, i int) {
			d := m.Levels[x.level].Width[v.Axis]
			if v.Axis >= m.Rank {
				d = 1
			}
			switch none := way[at] == 0; {
			case how == Max && (none || x.sum[i] > s.Values[at] || s.Values[at] != s.Values[at]):
				s.Values[at] = x.sum[i]
			case how == Max:
			case none:
				s.Values[at] = x.sum[i] * d
			default:
				s.Values[at] += x.sum[i] * d
			}
			way[at] += x.way[i] * d
		}, func(s *Shown, way []float64) {
			if how == Mean {
				for i := range s.Values {
					s.Values[i] /= way[i]
				}
			}
		})
}

// flat is what a box shows, by its cells across and up.
type flat struct {
	level    int
	sum, way []float64 // way 0: nothing
}

func newFlat(n int) flat { return flat{sum: make([]float64, n), way: make([]float64, n)} }

// walk calls f with each cell of a box: its place across and up, its number, and its place along the axis of the view.
func (b *Box) walk(v *View, f func(at, i, depth int)) {
	n := b.Len()
	wide, i := n[v.Across[0]], 0
	var c [3]int
	for c[2] = range n[2] {
		for c[1] = range n[1] {
			for c[0] = range n[0] {
				f(c[v.Across[1]]*wide+c[v.Across[0]], i, c[v.Axis])
				i++
			}
		}
	}
}

// show reads boxes, flattens each, and adds it to the pixels.
func (m *Mesh) show(ctx context.Context, field int, v *View, px []pixels, keep func(level int, b *Box) bool, do func(r ref, b *Box, values []float64, mask []bool) flat,
	add func(s *Shown, way []float64, at int, x *flat, i int), end func(s *Shown, way []float64)) (*Shown, error) {
	s := &Shown{View: v, Values: make([]float64, v.W*v.H), Level: make([]int8, v.W*v.H)}
	for i := range s.Values {
		s.Values[i], s.Level[i] = math.NaN(), -1
	}
	way := make([]float64, len(s.Values))
	within := func(l int, b *Box) (x0, x1, y0, y1 int) {
		x0, x1 = span(px[l].cols[0], b.Lo[v.Across[0]], b.Hi[v.Across[0]])
		y0, y1 = span(px[l].cols[1], b.Lo[v.Across[1]], b.Hi[v.Across[1]])
		return x0, x1, y0, y1
	}
	list := m.boxes(func(l int, b *Box) bool {
		x0, x1, y0, y1 := within(l, b)
		return (keep == nil || keep(l, b)) && x0 < x1 && y0 < y1
	})
	err := each(ctx, m, list, []int{field}, func(r ref, values [][]float64) (flat, error) {
		b := &m.Levels[r.level].Boxes[r.box]
		f := do(r, b, values[0], m.mask(r.level, b))
		f.level = r.level
		return f, nil
	}, func(r ref, f flat) error {
		b := &m.Levels[r.level].Boxes[r.box]
		x0, x1, y0, y1 := within(r.level, b)
		wide, seen := b.Len()[v.Across[0]], false
		for y := y0; y < y1; y++ {
			row := (px[r.level].cols[1][y]-b.Lo[v.Across[1]])*wide - b.Lo[v.Across[0]]
			for x := x0; x < x1; x++ {
				if i := row + px[r.level].cols[0][x]; f.way[i] > 0 {
					at := y*v.W + x
					add(s, way, at, &f, i)
					s.Level[at] = max(s.Level[at], int8(r.level))
					seen = true
				}
			}
		}
		if seen {
			lo, hi := m.Edges(r.level, b)
			s.Boxes = append(s.Boxes, Edge{[2]float64{lo[v.Across[0]], lo[v.Across[1]]}, [2]float64{hi[v.Across[0]], hi[v.Across[1]]}, r.level})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end != nil {
		end(s, way)
	}
	s.Min, s.Max, s.Positive = math.Inf(1), math.Inf(-1), math.Inf(1)
	for _, x := range s.Values {
		if x-x == 0 {
			s.Min, s.Max = min(s.Min, x), max(s.Max, x)
			if x > 0 {
				s.Positive = min(s.Positive, x)
			}
		}
	}
	return s, nil
}
