package cello

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
)

// describe finds geometry, fields and particles.
func (s *scanner) describe(k *Checkpoint) error {
	root := &s.schema.root
	total := 0
	for _, f := range s.files {
		total += len(f.list)
	}
	if total == 0 {
		return fault.At(s.pathOf(cellodir.FileList), -1, "", ErrMissing, "none of the %d files has a block", len(s.files))
	}
	if s.schema.first == nil || !root.ok {
		return fault.At(s.pathOf(cellodir.FileList), -1, "", ErrCorrupt, "no block can be read with its attributes")
	}
	m := &k.meta
	m.Rank = int(root.rank)
	m.Cycle, m.Time, m.Dt = int32(root.cycle), root.time, root.dt
	m.Lower, m.Upper = root.lower, root.upper
	m.Attrs = root.extras
	m.Redshift = s.schema.first.redshift
	k.enzo = s.schema.first.enzo
	if err := s.geometry(m, root); err != nil {
		return err
	}
	return s.columns(k)
}

// geometry sets Geometry from the first block: cells and ghosts from its grid attributes, root blocks from its width, and
// borders from its adapt_buffer.
func (s *scanner) geometry(m *amr.Meta, root *rootValues) error {
	b := s.schema.first
	file := s.pathOf(cellodir.FileList)
	for i := range 3 {
		n, g := b.to[i]-b.start[i]+1, b.start[i]
		if n < 1 || n > 1<<24 || g < 0 || g > 1<<16 || b.dim[i] != n+2*g {
			return fault.At(file, -1, "block "+b.name, ErrCorrupt, "enzo_GridDimension %v, StartIndex %v and EndIndex %v contradict each other", b.dim, b.start, b.to)
		}
		m.Block[i], m.Ghost[i] = int(n), int(g)
		m.Roots[i] = 1
		if i < m.Rank {
			// At level l the width of a block is 1/(roots*2^l) of the domain. A block of a negative level may be cut at the
			// border.
			w := (b.upper[i] - b.lower[i]) / (root.upper[i] - root.lower[i])
			r := math.Ldexp(1/w, -max(b.index.Level(), 0))
			if b.index.Level() >= 0 && r >= 0.5 && r < amr.MaxRoots+0.5 {
				// The bounds are wrong if the name has not as many digits as the number of root blocks needs.
				if n := int(math.Round(r)); bits.Len(uint(n-1)) == arrayDigits(b.name, i) {
					m.Roots[i] = n
				}
			}
		}
		if b.adapt != nil {
			m.Periodic[i] = b.adapt.Periodic[i] != 0
		}
	}
	// A block of level 0 or finer determines the mesh better than a block of a negative level.
	lo, hi := 0, int(root.maxLevel)
	most := [3]int{}
	for _, f := range s.files {
		for i := range f.blocks {
			x := f.blocks[i].index
			l := x.Level()
			if !f.blocks[i].known || x.Valid(m.Rank) != nil {
				continue
			}
			lo, hi = min(lo, l), max(hi, l)
			if l >= 0 {
				for a, c := range x.Array() {
					most[a] = max(most[a], c+1)
				}
			}
		}
	}
	for i := range m.Rank {
		if b.index.Level() < 0 || m.Roots[i] < most[i] {
			m.Roots[i] = max(most[i], 1)
		}
	}
	if b.index.Level() < 0 {
		if b.adapt != nil {
			for i := range m.Rank {
				if r := int(b.adapt.Periodic[i]); r >= m.Roots[i] && r <= amr.MaxRoots {
					m.Roots[i] = r
				}
			}
		}
	}
	m.MinLevel, m.MaxLevel = lo, min(hi, amr.MaxDepth)
	if err := m.Geometry.Validate(); err != nil {
		return fault.At(file, -1, "geometry", ErrCorrupt, "%v", err)
	}
	return nil
}

// arrayDigits returns how many digits of a block name identify the root block along an axis.
func arrayDigits(name string, axis int) int {
	for range axis {
		_, name, _ = strings.Cut(name, "_")
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "B"), "_")
	name, _, _ = strings.Cut(name, ":")
	return len(name)
}

// columns finds fields and particles among the datasets of the schema.
func (s *scanner) columns(k *Checkpoint) error {
	m := &k.meta
	types := particleTypes(s.schema.cols)
	index := map[string]int{}
	type part struct{ col, ptype, attr int }
	var parts []part
	for c := range s.schema.cols {
		d := &s.schema.cols[c]
		typ := amrType(d.typ)
		if typ == 0 {
			return fault.At(s.pathOf(cellodir.FileList), -1, d.name, fault.ErrUnsupported, "type %v", d.typ)
		}
		if name, ok := strings.CutPrefix(d.name, fieldPrefix); ok {
			spec := amr.FieldSpec{Name: name, Type: typ}
			dims := slices.Clone(d.dims)
			if k.reversed() {
				slices.Reverse(dims)
			}
			ghosts, err := fieldShape(&m.Geometry, &spec, dims)
			if err != nil {
				return fault.At(s.pathOf(cellodir.FileList), -1, d.name, ErrCorrupt, "%v", err)
			}
			m.Fields = append(m.Fields, spec)
			k.ghosts = append(k.ghosts, ghosts)
			k.colAt = append(k.colAt, c)
			continue
		}
		t, a := splitParticle(strings.TrimPrefix(d.name, particlePrefix), types)
		i, ok := index[t]
		if !ok {
			i = len(m.Particles)
			index[t] = i
			m.Particles = append(m.Particles, amr.ParticleSpec{Name: t})
		}
		parts = append(parts, part{c, i, len(m.Particles[i].Attrs)})
		m.Particles[i].Attrs = append(m.Particles[i].Attrs, amr.AttrSpec{Name: a, Type: typ})
	}
	// Sort columns in the order of columnsOf: first fields, then particles by type.
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.ptype, b.ptype), cmp.Compare(a.attr, b.attr))
	})
	for _, p := range parts {
		k.colAt = append(k.colAt, p.col)
	}
	if err := m.Validate(); err != nil {
		return fault.At(s.pathOf(cellodir.FileList), -1, "datasets", ErrCorrupt, "%v", err)
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		k.cols = append(k.cols, column{name: fieldPrefix + f.Name, typ: f.Type, field: f, place: i, dims: dims(m.Shape(f, k.ghosts[i])), bytes: m.FieldBytes(f, k.ghosts[i])})
	}
	for i := range m.Particles {
		p := &m.Particles[i]
		for j := range p.Attrs {
			k.cols = append(k.cols, column{name: particleName(p, &p.Attrs[j]), typ: p.Attrs[j].Type, ptype: i, attr: j})
		}
	}
	for c := range k.cols {
		k.cols[c].big = s.schema.cols[k.colAt[c]].typ.BigEndian()
	}
	return nil
}

// particleTypes guesses the names of particle types from the names before "_x", because particles of every type have a position.
func particleTypes(schema []schemaCol) (l []string) {
	for _, c := range schema {
		n, ok := strings.CutPrefix(c.name, particlePrefix)
		if !ok {
			continue
		}
		if t, ok := strings.CutSuffix(n, "_x"); ok && t != "" {
			l = append(l, t)
		}
	}
	slices.SortFunc(l, func(a, b string) int { return len(a) - len(b) })
	return l
}

// splitParticle splits a dataset name into type and attribute, which may both contain underscores. The type is the shortest
// known type with which the name begins. If there is none, it ends at the first underscore.
func splitParticle(name string, types []string) (typ, attr string) {
	for _, t := range types {
		if a, ok := strings.CutPrefix(name, t+"_"); ok && a != "" {
			return t, a
		}
	}
	typ, attr, ok := strings.Cut(name, "_")
	if !ok || attr == "" || typ == "" {
		return name, name
	}
	return typ, attr
}

// fieldShape derives from the shape of a dataset whether a field has ghosts and on which axes it is face-centred.
func fieldShape(g *amr.Geometry, spec *amr.FieldSpec, d []int64) (ghosts bool, err error) {
	m, ok := shape(d)
	if !ok {
		return false, fmt.Errorf("%d dimensions, want 1 to 3", len(d))
	}
	with, without := 0, 0
	for i := range 3 {
		n, w := int64(g.Block[i]), int64(g.Ghost[i])
		switch m[i] {
		case n, n + 1:
			spec.Centered[i] = m[i] == n+1
			if w > 0 {
				without++
			}
		case n + 2*w, n + 2*w + 1:
			spec.Centered[i] = m[i] == n+2*w+1
			with++
		default:
			return false, fmt.Errorf("shape %v does not match blocks of %v cells with %v ghosts", d, g.Block, g.Ghost)
		}
	}
	if with > 0 && without > 0 {
		return false, fmt.Errorf("shape %v has ghosts on some axes only (blocks of %v cells with %v ghosts)", d, g.Block, g.Ghost)
	}
	return with > 0, nil
}
