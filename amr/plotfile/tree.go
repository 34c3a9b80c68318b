package plotfile

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"blobio/amr"
	"blobio/internal/amr/boxes"
	"blobio/internal/elem"
)

// Attributes of amr.Meta that keep what a tree has no place for.
const (
	AttrCoord = "plotfile_coordinates" // Header.Coord
	AttrSteps = "plotfile_steps"       // of the levels of the tree
	AttrLower = "plotfile_domain_low"  // the first cell of the domain on the coarsest level, where it is not 0
)

// mostBlock is how many cells a block of a tree may have on an axis, where the grids leave the choice.
const mostBlock = 64

// Tree is a plotfile as the blocks of a tree, a blocks.Source: equal blocks, as large as the grids allow. It holds the places of all particles in memory.
type Tree struct {
	p      *Plotfile
	meta   amr.Meta
	order  []amr.Index
	leaf   []bool
	of     []int // level of the plotfile by level of the tree; -1: between two
	at     []int // level of the tree by level of the plotfile
	index  []*boxes.Index
	parts  []map[amr.Index][]particleRef // by kind
	typ    amr.Type
	blocks *amr.Tree
}

// particleRef is a particle: part and number.
type particleRef struct{ part, n int32 }

// Tree makes the blocks. Levels must be refined by the same power of two on all axes; of ratios above 2 the levels between are made, as means, and are
// refined everywhere.
func (p *Plotfile) Tree(ctx context.Context) (*Tree, error) {
	t := &Tree{p: p}
	if err := t.levels(); err != nil {
		return nil, err
	}
	if err := t.describe(); err != nil {
		return nil, err
	}
	if err := p.held(ctx); err != nil {
		return nil, p.named(err)
	}
	for l := range p.Levels {
		t.index = append(t.index, newIndex(p.Levels[l].Grids))
	}
	if err := t.grow(); err != nil {
		return nil, err
	}
	return t, t.particles(ctx)
}

// held says whether the files are as long as the grids ask for, so that no work or memory follows from what a header only claims.
func (p *Plotfile) held(ctx context.Context) error {
	if len(p.Fields) == 0 {
		return pkg.In(HeaderName, "number of fields", ErrUnsupported, "0, a tree wants fields")
	}
	for l := range p.Levels {
		for i := range p.Levels[l].Grids {
			if err := ctx.Err(); err != nil {
				return err
			}
			h, err := p.fab(l, i)
			if err != nil {
				return err
			}
			name, off := p.data(l, i), p.Levels[l].Grids[i].Offset
			f, err := p.files.get(name)
			if err != nil {
				return err
			}
			size := f.size
			p.files.put(f)
			if left := size - off - h.len; left < 0 || h.box.Cells() > left/int64(h.typ.Size()*h.fields) {
				return pkg.At(name, off, "FAB", ErrTruncated, "%d bytes to the end of the file, want %d fields of %d cells of grid %d of level %d", left, h.fields, h.box.Cells(), i, l)
			}
		}
	}
	return nil
}

// levels finds the levels of the tree.
func (t *Tree) levels() error {
	p := t.p
	for l := range p.Levels {
		for len(t.of) > 0 && l > 0 && len(t.of)-1 < t.at[l-1] {
			t.of = append(t.of, -1)
		}
		t.at = append(t.at, len(t.of))
		t.of = append(t.of, l)
		if l+1 == len(p.Levels) {
			break
		}
		r := p.Levels[l].Ratio
		for a := range p.Rank {
			if r[a] != r[0] || bits.OnesCount(uint(r[0])) != 1 || r[0] < 2 {
				return pkg.In(HeaderName, "ratios", ErrUnsupported, "level %d is refined by %v: a tree wants 2, 4, 8, ..., the same on all axes", l, r[:p.Rank])
			}
		}
		for range bits.TrailingZeros(uint(r[0])) - 1 {
			t.of = append(t.of, -1)
		}
	}
	if len(t.of)-1 > amr.MaxDepth {
		return pkg.In(HeaderName, "levels", ErrUnsupported, "%d levels of a tree, want at most %d", len(t.of), amr.MaxDepth+1)
	}
	return nil
}

// describe chooses the size of the blocks: what divides the domain, and of finer levels each grid into whole families.
func (t *Tree) describe() error {
	p := t.p
	g := amr.Geometry{Rank: p.Rank, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Lower: p.Lower, Upper: p.Upper, MaxLevel: len(t.of) - 1}
	low := p.Levels[0].Domain.Lo
	for a := range p.Rank {
		n := p.Levels[0].Domain.Len()[a]
		b := n
		for l := range p.Levels {
			x := &p.Levels[l]
			family := 1
			if l > 0 {
				family = p.Levels[l-1].Ratio[a]
			}
			for i := range x.Grids {
				for _, v := range []int{x.Grids[i].Lo[a] - x.Domain.Lo[a], x.Grids[i].Hi[a] - x.Domain.Lo[a]} {
					if v%family != 0 {
						return pkg.In(x.cells.file, "grids", ErrCorrupt, "grid %d divides cells of level %d", i, l-1)
					}
					b = gcd(b, v/family)
				}
			}
		}
		for d := b; d >= 1; d-- { // the greatest divisor that is not too large
			if b%d == 0 && d <= mostBlock {
				b = d
				break
			}
		}
		g.Block[a], g.Roots[a] = b, n/b
		if g.Roots[a] > amr.MaxRoots {
			return pkg.In(HeaderName, "domain", ErrUnsupported, "blocks of %d cells, which the grids ask for, would be %d on axis %d: a tree has at most %d", b, g.Roots[a], a, amr.MaxRoots)
		}
	}
	steps := make([]int32, len(p.Levels))
	for l := range steps {
		steps[l] = int32(min(max(p.Levels[l].Step, math.MinInt32), math.MaxInt32))
	}
	t.meta = amr.Meta{Geometry: g, Time: p.Time, Cycle: steps[0], Attrs: map[string]any{AttrSteps: steps}, Unverified: p.Unverified() || p.manifest != nil && !p.verify}
	if p.Coord != 0 {
		t.meta.Attrs[AttrCoord] = int32(p.Coord)
	}
	if low != [3]int{} {
		t.meta.Attrs[AttrLower] = []int32{int32(low[0]), int32(low[1]), int32(low[2])}
	}
	t.typ = amr.Float32
	for l := range p.Levels {
		if len(p.Levels[l].Grids) > 0 {
			typ, err := p.Type(l, 0)
			if err != nil {
				return err
			}
			t.typ = max(t.typ, typ) // double, if any is
		}
	}
	for _, name := range p.Fields {
		t.meta.Fields = append(t.meta.Fields, amr.FieldSpec{Name: name, Type: t.typ})
	}
	for k := range p.Kinds {
		t.meta.Particles = append(t.meta.Particles, amr.ParticleSpec{Name: p.Kinds[k].Name, Attrs: p.Kinds[k].Columns(p.Rank)})
	}
	t.meta.Files = t.p.mostFiles()
	return t.meta.Validate()
}

// mostFiles is the greatest number of data files of a level.
func (p *Plotfile) mostFiles() (n int) {
	for l := range p.Levels {
		names := map[string]bool{}
		for i := range p.Levels[l].Grids {
			names[p.Levels[l].Grids[i].File] = true
		}
		n = max(n, len(names))
	}
	return n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// grow finds the blocks of all levels.
func (t *Tree) grow() error {
	g := &t.meta.Geometry
	tree := amr.NewTree(g)
	add := func(level int, b Box) error { // cells of that level of the tree, from the lower corner of the domain
		c, _ := b.Coarsen(g.Block)
		for z := c.Lo[2]; z < c.Hi[2]; z++ {
			for y := c.Lo[1]; y < c.Hi[1]; y++ {
				for x := c.Lo[0]; x < c.Hi[0]; x++ {
					if i := amr.At(level, [3]int{x, y, z}); !tree.Has(i) {
						if err := tree.Add(i); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	}
	for l := range t.p.Levels {
		x := &t.p.Levels[l]
		for i := range x.Grids {
			b := t.p.fromCorner(l, x.Grids[i].Box)
			for level := t.at[l]; ; level-- { // and the levels between
				if err := add(level, b); err != nil {
					return err
				}
				if level == 0 || t.of[level-1] >= 0 {
					break
				}
				b, _ = b.Coarsen(t.double())
			}
		}
	}
	t.blocks, t.order = tree, amr.Morton{}.Order(tree)
	for _, x := range t.order {
		t.leaf = append(t.leaf, tree.Leaf(x))
	}
	return nil
}

// double is a ratio of 2 on each axis.
func (t *Tree) double() [3]int {
	r := [3]int{1, 1, 1}
	for a := range t.meta.Rank {
		r[a] = 2
	}
	return r
}

// fromCorner counts cells from the lower corner of the domain, which may have any number.
func (p *Plotfile) fromCorner(level int, b Box) Box {
	low := p.Levels[level].Domain.Lo
	for a := range 3 {
		b.Lo[a] -= low[a]
		b.Hi[a] -= low[a]
	}
	return b
}

// particles finds the leaf of each particle.
func (t *Tree) particles(ctx context.Context) error {
	g := &t.meta.Geometry
	hi := t.meta.MaxLevel
	for k := range t.p.Kinds {
		kind := &t.p.Kinds[k]
		of := map[amr.Index][]particleRef{}
		for i := range kind.parts {
			if kind.parts[i].count == 0 {
				continue
			}
			cols, err := t.p.Particles(ctx, k, i)
			if err != nil {
				return err
			}
			var at [3][]float64
			for a := range g.Rank {
				at[a] = floats(kind.Type, cols[a])
			}
			for n := range at[0] {
				var c [3]int
				for a := range g.Rank {
					cells := g.Roots[a] * g.Block[a] << hi
					x := math.Floor((at[a][n] - g.Lower[a]) / (g.Upper[a] - g.Lower[a]) * float64(cells))
					if !(x >= 0) { // outside of the domain: in the block at its border
						x = 0
					}
					c[a] = int(min(x, float64(cells-1))) / g.Block[a]
				}
				x := amr.At(hi, c)
				for !t.blocks.Has(x) && x.Level() > 0 {
					x = x.Parent()
				}
				of[x] = append(of[x], particleRef{int32(i), int32(n)})
			}
		}
		t.parts = append(t.parts, of)
	}
	return nil
}

// Meta implements blocks.Source.
func (t *Tree) Meta() *amr.Meta { return &t.meta }

// Len implements blocks.Source.
func (t *Tree) Len() int { return len(t.order) }

// Blocks returns the blocks in their order, and which are leaves.
func (t *Tree) Blocks() (index []amr.Index, leaf []bool) { return t.order, t.leaf }

// Heads implements blocks.Source.
func (t *Tree) Heads(_ context.Context, lo, hi int) ([]*amr.Block, error) {
	if lo < 0 || hi > len(t.order) || lo >= hi {
		return nil, pkg.Usage("blocks %d to %d of %d", lo, hi, len(t.order))
	}
	out := make([]*amr.Block, 0, hi-lo)
	for i := lo; i < hi; i++ {
		b := &amr.Block{Index: t.order[i], Leaf: t.leaf[i], Cycle: t.meta.Cycle, Time: t.meta.Time, Dt: t.meta.Dt}
		for f := range t.meta.Fields {
			b.Fields = append(b.Fields, amr.Field{Spec: &t.meta.Fields[f]})
		}
		for k := range t.meta.Particles {
			b.Particles = append(b.Particles, amr.Particles{Spec: &t.meta.Particles[k], N: len(t.parts[k][b.Index])})
		}
		out = append(out, b)
	}
	return out, nil
}

// Range implements blocks.Source.
func (t *Tree) Range(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	out, err := t.Heads(ctx, lo, hi)
	if err != nil {
		return nil, err
	}
	grids := map[[3]int][]byte{} // that were read: neighbours are in the same ones, most often
	for _, b := range out {
		for f := range b.Fields {
			if b.Fields[f].Data, err = t.field(ctx, b.Index, f, grids); err != nil {
				return nil, err
			}
		}
	}
	cols := map[[2]int][][]byte{}
	for _, b := range out {
		for k := range b.Particles {
			if b.Particles[k].Data, err = t.rows(ctx, k, t.parts[k][b.Index], cols); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// grid reads a field of a grid as elements of the tree's type.
func (t *Tree) grid(ctx context.Context, level, grid, field int, have map[[3]int][]byte) ([]byte, error) {
	key := [3]int{level, grid, field}
	if b := have[key]; b != nil {
		return b, nil
	}
	typ, b, err := t.p.Read(ctx, level, grid, field)
	if err != nil {
		return nil, err
	}
	if typ != t.typ {
		if t.typ != amr.Float64 {
			return nil, pkg.In(t.p.data(level, grid), "FAB", ErrUnsupported, "numbers of %v, others are of %v", typ, t.typ)
		}
		b = elem.Bytes(floats(typ, b))
	}
	have[key] = b
	return b, nil
}

// field puts a field of a block together.
func (t *Tree) field(ctx context.Context, x amr.Index, field int, have map[[3]int][]byte) ([]byte, error) {
	g, level, c := &t.meta.Geometry, x.Level(), x.Coord()
	var b Box
	for a := range 3 {
		b.Lo[a] = c[a] * g.Block[a]
		b.Hi[a] = b.Lo[a] + g.Block[a]
	}
	if l := t.of[level]; l >= 0 {
		return t.cells(ctx, l, b, field, have)
	}
	fine := level // the mean of the next level that the plotfile has
	ratio := [3]int{1, 1, 1}
	for t.of[fine] < 0 {
		fine++
		for a := range g.Rank {
			ratio[a] *= 2
		}
	}
	data, err := t.cells(ctx, t.of[fine], b.Refine(ratio), field, have)
	if err != nil {
		return nil, err
	}
	values, n := floats(t.typ, data), b.Refine(ratio).Len()
	out := make([]float64, b.Cells())
	for i, v := range values {
		out[((i/n[0]/n[1])/ratio[2]*g.Block[1]+i/n[0]%n[1]/ratio[1])*g.Block[0]+i%n[0]/ratio[0]] += v
	}
	for i := range out {
		out[i] /= float64(ratio[0] * ratio[1] * ratio[2])
	}
	if t.typ == amr.Float64 {
		return elem.Bytes(out), nil
	}
	small := make([]float32, len(out))
	for i, v := range out {
		small[i] = float32(v)
	}
	return elem.Bytes(small), nil
}

// cells are those of a level of the plotfile, counted from the corner of the domain.
func (t *Tree) cells(ctx context.Context, level int, b Box, field int, have map[[3]int][]byte) ([]byte, error) {
	x := &t.p.Levels[level]
	for a := range 3 {
		b.Lo[a] += x.Domain.Lo[a]
		b.Hi[a] += x.Domain.Lo[a]
	}
	size, n := t.typ.Size(), b.Len()
	out := make([]byte, b.Cells()*int64(size))
	var err error
	sum := int64(0)
	t.index[level].Each(b, func(i int, part Box) bool {
		var data []byte
		if data, err = t.grid(ctx, level, i, field, have); err != nil {
			return false
		}
		box := x.Grids[i].Box
		from := box.Len()
		for z := part.Lo[2]; z < part.Hi[2]; z++ {
			for y := part.Lo[1]; y < part.Hi[1]; y++ {
				src := (((z-box.Lo[2])*from[1]+y-box.Lo[1])*from[0] + part.Lo[0] - box.Lo[0]) * size
				dst := (((z-b.Lo[2])*n[1]+y-b.Lo[1])*n[0] + part.Lo[0] - b.Lo[0]) * size
				copy(out[dst:dst+(part.Hi[0]-part.Lo[0])*size], data[src:])
			}
		}
		sum += part.Cells()
		return true
	})
	if err == nil && sum != b.Cells() {
		err = pkg.In(x.cells.file, "grids", ErrCorrupt, "%d of the cells %s are there, want all %d once", sum, boxText(b, t.p.Rank), b.Cells())
	}
	return out, err
}

// rows are some particles.
func (t *Tree) rows(ctx context.Context, kind int, list []particleRef, have map[[2]int][][]byte) ([][]byte, error) {
	specs := t.meta.Particles[kind].Attrs
	out := make([][]byte, len(specs))
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b particleRef) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.n, b.n)) })
	for _, r := range list {
		key := [2]int{kind, int(r.part)}
		if have[key] == nil {
			cols, err := t.p.Particles(ctx, kind, int(r.part))
			if err != nil {
				return nil, err
			}
			have[key] = cols
		}
		for c := range specs {
			size := specs[c].Type.Size()
			out[c] = append(out[c], have[key][c][int(r.n)*size:(int(r.n)+1)*size]...)
		}
	}
	return out, nil
}
