package grids

import (
	"math"
	"testing"
)

// TestProject: at any level, a projection along an axis integrates the finest cells. Its mean over the plane equals the
// total.
func TestProject(t *testing.T) {
	src, index, leaf := generated(t, 3)
	m := meshOf(t, src, index, leaf)
	s, err := m.Stats(t.Context(), []int{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := m.Finest()
	fine, err := m.Fill(t.Context(), 0, last, m.Region(last, m.Lower, m.Upper))
	if err != nil {
		t.Fatal(err)
	}
	for axis := range 3 {
		n := fine.Len()
		flat := n
		flat[axis] = 1
		want := make([]float64, flat[0]*flat[1]*flat[2])
		for i, v := range fine.Values {
			c := [3]int{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}
			c[axis] = 0
			want[(c[2]*flat[1]+c[1])*flat[0]+c[0]] += v * m.Levels[last].Width[axis]
		}
		for l := range m.Levels {
			p, err := m.Project(t.Context(), 0, l, axis)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, v := range p.Values {
				sum += v / float64(len(p.Values))
			}
			if math.Abs(sum-s[0].Total) > 1e-12*math.Abs(sum) { // the domain has volume 1
				t.Errorf("axis %d, level %d: total %v, want %v", axis, l, sum, s[0].Total)
			}
			if l < last {
				continue
			}
			for i, v := range p.Values {
				if math.Abs(v-want[i]) > 1e-12*math.Abs(v) || p.From[i] < 0 {
					t.Fatalf("axis %d, cell %d: %v of level %d, want %v", axis, i, v, p.From[i], want[i])
				}
			}
		}
	}
}

// TestSlice: a slice has the cells that contain the plane.
func TestSlice(t *testing.T) {
	src, index, leaf := generated(t, 3)
	m := meshOf(t, src, index, leaf)
	l := m.Finest()
	for axis := range 3 {
		n := m.Levels[l].Cells[axis]
		for at, want := range map[float64]int{m.Lower[axis]: 0, m.Upper[axis]: n - 1, m.Lower[axis] + 2.5*m.Levels[l].Width[axis]: 2} {
			f, err := m.Slice(t.Context(), 0, l, axis, at)
			if err != nil || f.Lo[axis] != want || f.Hi[axis] != want+1 || f.Cells() != int64(len(f.Values)) {
				t.Errorf("axis %d at %v: %v, %v, want cell %d", axis, at, f.Span, err, want)
			}
		}
	}
}
