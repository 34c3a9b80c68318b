package grids

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"blobio/internal/base/fault"
)

// Difference compares one field of two meshes.
type Difference struct {
	Name    string
	Cells   int64   // number of cells at the same level in both
	Differ  int64   // number of these cells that differ by more than the tolerance
	Most    float64 // the largest difference
	Where   Place
	A, B    float64 // values of that cell
	Missing int64   // number of cells of A where B has no block
	Other   int64   // number of cells that are finer in one of the meshes
	OtherBy float64 // largest difference of means in those cells
}

// Compared is the result of Diff.
type Compared struct {
	Fields       []Difference
	OnlyA, OnlyB []string // fields and kinds of particles that only one mesh has
	Levels       []Refinement
	Particles    []Rows
}

// Refinement counts the boxes of a level that are in both meshes, only in A, or only in B.
type Refinement struct{ Level, Both, OnlyA, OnlyB int }

// Rows is the result of the comparison of particles. A row is a particle; the order of rows does not matter.
type Rows struct {
	Name         string
	A, B         int64
	OnlyA, OnlyB int64
}

// Equal reports whether nothing differs. Cells that are finer or missing in one mesh count as a difference.
func (c *Compared) Equal() bool {
	same := len(c.OnlyA) == 0 && len(c.OnlyB) == 0
	for _, f := range c.Fields {
		same = same && f.Differ == 0 && f.Other == 0
	}
	for _, l := range c.Levels {
		same = same && l.OnlyA == 0 && l.OnlyB == 0
	}
	for _, p := range c.Particles {
		same = same && p.OnlyA == 0 && p.OnlyB == 0
	}
	return same
}

// Tolerance is the allowed difference of values: Abs, or Rel times the larger magnitude.
type Tolerance struct{ Abs, Rel float64 }

func (t Tolerance) same(a, b float64) bool {
	if a == b || a != a && b != b {
		return true
	}
	d := math.Abs(a - b)
	return d <= t.Abs || d <= t.Rel*max(math.Abs(a), math.Abs(b))
}

// Diff compares two meshes of one domain. Where both meshes have the same level, Diff compares cell by cell. Elsewhere it
// compares the values of A with the values that Fill computes for B at A's level. names selects the fields to compare; nil:
// all.
func Diff(ctx context.Context, a, b *Mesh, names []string, t Tolerance, progress func(done, total int64)) (*Compared, error) {
	if a.Rank != b.Rank || a.Lower != b.Lower || a.Upper != b.Upper || a.Levels[0].Cells != b.Levels[0].Cells {
		return nil, fault.Usage("the domains of the meshes differ: %v to %v with %v cells on the coarsest level, but %v to %v with %v", a.Lower, a.Upper, a.Levels[0].Cells, b.Lower, b.Upper, b.Levels[0].Cells)
	}
	c := &Compared{}
	pick := func(name string) bool { return names == nil || slices.Contains(names, name) }
	for _, f := range a.Fields {
		switch {
		case !pick(f.Name):
		case b.Field(f.Name) < 0:
			c.OnlyA = append(c.OnlyA, "field "+f.Name)
		default:
			c.Fields = append(c.Fields, Difference{Name: f.Name})
		}
	}
	for _, f := range b.Fields {
		if pick(f.Name) && a.Field(f.Name) < 0 {
			c.OnlyB = append(c.OnlyB, "field "+f.Name)
		}
	}
	c.refinement(a, b)
	list := a.boxes(nil)
	done := int64(0)
	for i := range c.Fields {
		d := &c.Fields[i]
		fa, fb := a.Field(d.Name), b.Field(d.Name)
		err := each(ctx, a, list, []int{fa}, func(r ref, values [][]float64) (one Difference, err error) {
			box := &a.Levels[r.level].Boxes[r.box]
			mask := a.mask(r.level, box)
			other, err := b.fillAt(ctx, fb, r.level, box.Span, a)
			if err != nil {
				return one, err
			}
			for i, x := range values[0] {
				if mask != nil && mask[i] {
					continue
				}
				y := other.Values[i]
				by := math.Abs(x - y)
				if other.From[i] < 0 {
					one.Missing++
					continue
				}
				if int(other.From[i]) != r.level {
					if one.Other++; by > one.OtherBy || one.Other == 1 {
						one.OtherBy = by
					}
					continue
				}
				if one.Cells++; !t.same(x, y) {
					if one.Differ++; one.Differ == 1 || by > one.Most || by != by && one.Most == one.Most {
						one.Most, one.Where, one.A, one.B = by, a.place(r, box, i), x, y
					}
				}
			}
			return one, nil
		}, func(_ ref, one Difference) error {
			d.Cells += one.Cells
			d.Missing += one.Missing
			d.Other += one.Other
			d.OtherBy = max(d.OtherBy, one.OtherBy)
			if one.Differ > 0 && (d.Differ == 0 || one.Most > d.Most) {
				d.Most, d.Where, d.A, d.B = one.Most, one.Where, one.A, one.B
			}
			d.Differ += one.Differ
			if done++; progress != nil {
				progress(done, int64(len(list)*len(c.Fields)))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return c, c.particles(ctx, a, b, names)
}

// fillAt does the same as Fill, but for a level of another mesh. m need not have this level.
func (m *Mesh) fillAt(ctx context.Context, field, level int, b Span, other *Mesh) (*Filled, error) {
	if level < len(m.Levels) {
		return m.Fill(ctx, field, level, b)
	}
	last := len(m.Levels) - 1
	s := other.scale(last, level)
	coarse := b.Coarsen(s)
	f, err := m.Fill(ctx, field, last, coarse)
	if err != nil {
		return nil, err
	}
	out, n, from := &Filled{Span: b, Level: level}, b.Len(), coarse.Len()
	for z := range n[2] {
		for y := range n[1] {
			for x := range n[0] {
				i := (((z+b.Lo[2])/s[2]-coarse.Lo[2])*from[1]+(y+b.Lo[1])/s[1]-coarse.Lo[1])*from[0] + (x+b.Lo[0])/s[0] - coarse.Lo[0]
				out.Values, out.From = append(out.Values, f.Values[i]), append(out.From, f.From[i])
			}
		}
	}
	return out, nil
}

// refinement counts the boxes of both meshes by level.
func (c *Compared) refinement(a, b *Mesh) {
	for l := range max(len(a.Levels), len(b.Levels)) {
		r, have := Refinement{Level: l}, map[Span]bool{}
		for _, x := range a.boxes(nil) {
			if x.level == l {
				have[a.Levels[l].Boxes[x.box].Span] = true
			}
		}
		r.OnlyA = len(have)
		for _, x := range b.boxes(nil) {
			if x.level != l {
				continue
			}
			if have[b.Levels[l].Boxes[x.box].Span] {
				r.Both++
				r.OnlyA--
			} else {
				r.OnlyB++
			}
		}
		c.Levels = append(c.Levels, r)
	}
}

// particles compares rows in any order by hashes of their values.
func (c *Compared) particles(ctx context.Context, a, b *Mesh, names []string) error {
	seed := maphash.MakeSeed()
	for i, k := range a.Kinds {
		if names != nil {
			break
		}
		j := b.Kind(k.Name)
		if j < 0 {
			c.OnlyA = append(c.OnlyA, "particles "+k.Name)
			continue
		}
		var columns []int // columns of b, in the order of the columns of a
		for _, name := range k.Columns {
			if at := slices.Index(b.Kinds[j].Columns, name); at >= 0 {
				columns = append(columns, at)
			} else {
				c.OnlyA = append(c.OnlyA, "particles "+k.Name+": "+name)
			}
		}
		if len(columns) < len(k.Columns) {
			continue
		}
		rows, r := map[uint64]int64{}, Rows{Name: k.Name}
		count := func(m *Mesh, kind int, order []int, sign int64, n *int64) error {
			return m.src.particles(ctx, m, kind, func(x [][]float64) error {
				buf := make([]byte, 0, 8*len(x))
				for i := range x[0] {
					buf = buf[:0]
					for c := range order {
						at := c
						if sign < 0 {
							at = order[c]
						}
						buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x[at][i]))
					}
					h := maphash.Bytes(seed, buf)
					if rows[h] += sign; rows[h] == 0 {
						delete(rows, h)
					}
				}
				*n += int64(len(x[0]))
				return nil
			})
		}
		if err := count(a, i, columns, 1, &r.A); err != nil {
			return err
		}
		if err := count(b, j, columns, -1, &r.B); err != nil {
			return err
		}
		for _, n := range rows {
			r.OnlyA, r.OnlyB = r.OnlyA+max(n, 0), r.OnlyB+max(-n, 0)
		}
		c.Particles = append(c.Particles, r)
	}
	for _, k := range b.Kinds {
		if names == nil && a.Kind(k.Name) < 0 {
			c.OnlyB = append(c.OnlyB, "particles "+k.Name)
		}
	}
	return nil
}
