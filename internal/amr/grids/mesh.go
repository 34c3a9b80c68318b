package grids

import (
	"slices"
)

// A Mesh is a set of levels, each with cells in boxes. It is safe for concurrent use.
type Mesh struct {
	Rank         int
	Lower, Upper [3]float64 // bounds of the domain; 0 to 1 on axes beyond Rank
	Time         float64
	Fields       []Field
	Kinds        []Kind
	Levels       []Level // coarsest first; a level may have no boxes
	ratio        [3]int  // number of cells of the next finer level in one cell, on each axis
	src          *blockSource
}

// Field is one field.
type Field struct{ Name, Type string }

// Kind is a type of particles, with a column for each attribute.
type Kind struct {
	Name    string
	Columns []string
}

// Level has all cells of one size.
type Level struct {
	Cells [3]int     // number of cells in the whole domain; 1 on axes beyond the rank
	Width [3]float64 // of a cell
	Boxes []Box
	begin map[[3]int]bool // first cells of all boxes
}

// Box is a range of cells. Cells are counted from the lower corner of the domain. Boxes of a level do not
// overlap.
type Box struct {
	Span
	Row int // number of the block in the source of the mesh
}

// ref identifies a box of a level.
type ref struct{ level, box int }

// Field returns the index of a field by name, or -1.
func (m *Mesh) Field(name string) int {
	return slices.IndexFunc(m.Fields, func(f Field) bool { return f.Name == name })
}

// Kind returns the index of a kind of particles by name, or -1.
func (m *Mesh) Kind(name string) int {
	return slices.IndexFunc(m.Kinds, func(k Kind) bool { return k.Name == name })
}

// Finest returns the finest level with boxes.
func (m *Mesh) Finest() int {
	for l := len(m.Levels) - 1; l > 0; l-- {
		if len(m.Levels[l].Boxes) > 0 {
			return l
		}
	}
	return 0
}

// BoxName returns the name of a box's block.
func (m *Mesh) BoxName(level, box int) string { return m.src.name(m, ref{level, box}) }

// Centre returns the position of a cell's centre.
func (m *Mesh) Centre(level int, cell [3]int) (x [3]float64) {
	for a := range x {
		x[a] = m.Lower[a] + (float64(cell[a])+0.5)*m.Levels[level].Width[a]
	}
	return x
}

// edge returns the lower edge of cell i on an axis. If i is the number of cells, it returns the end of the
// domain.
func (m *Mesh) edge(level, axis, i int) float64 {
	l := &m.Levels[level]
	if i == l.Cells[axis] {
		return m.Upper[axis]
	}
	return m.Lower[axis] + float64(i)*l.Width[axis]
}

// Edges returns the bounds of a span.
func (m *Mesh) Edges(level int, b Span) (lo, hi [3]float64) {
	for a := range 3 {
		lo[a], hi[a] = m.edge(level, a, b.Lo[a]), m.edge(level, a, b.Hi[a])
	}
	return lo, hi
}

// boxes returns the boxes that finer levels do not cover completely, coarsest level first. If keep is not nil,
// boxes returns only boxes for which keep returns true.
func (m *Mesh) boxes(keep func(level int, b *Box) bool) (out []ref) {
	for l := range m.Levels {
		for i := range m.Levels[l].Boxes {
			b := &m.Levels[l].Boxes[i]
			if (keep == nil || keep(l, b)) && m.covered(l, b) < b.Cells() {
				out = append(out, ref{l, i})
			}
		}
	}
	return out
}

// finer calls each for each part of a box that a box of the next finer level covers. The part is in cells of the
// box.
func (m *Mesh) finer(level int, b *Box, each func(part Span)) {
	if level+1 >= len(m.Levels) {
		return
	}
	begin, whole := m.Levels[level+1].begin, b.Refine(m.ratio)
	n := b.Len()
	for k := range 8 {
		lo, part, ok := whole.Lo, b.Span, true
		for a := range 3 {
			if k>>a&1 == 1 {
				lo[a] += n[a]
				part.Lo[a] += n[a] / 2
				ok = ok && a < m.Rank
			} else if a < m.Rank {
				part.Hi[a] -= n[a] / 2
			}
		}
		if ok && begin[lo] {
			each(part)
		}
	}
}

// covered returns the number of cells of a box that the next finer level covers.
func (m *Mesh) covered(level int, b *Box) (n int64) {
	m.finer(level, b, func(part Span) { n += part.Cells() })
	return n
}

// mask marks the cells of a box that the next finer level covers. It returns nil if there are none.
func (m *Mesh) mask(level int, b *Box) (out []bool) {
	n := b.Len()
	m.finer(level, b, func(part Span) {
		if out == nil {
			out = make([]bool, b.Cells())
		}
		for z := part.Lo[2]; z < part.Hi[2]; z++ {
			for y := part.Lo[1]; y < part.Hi[1]; y++ {
				at := ((z-b.Lo[2])*n[1]+y-b.Lo[1])*n[0] - b.Lo[0]
				for x := part.Lo[0]; x < part.Hi[0]; x++ {
					out[at+x] = true
				}
			}
		}
	})
	return out
}

// Place is the position of a cell.
type Place struct {
	Level int
	Box   string // name of the block
	At    [3]float64
}
