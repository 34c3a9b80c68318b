package cello

import (
	"fmt"
	"slices"

	"blobio/internal/amr"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// column is one dataset of every block: a field, or an attribute of a type of particles.
type column struct {
	name  string // name of the dataset
	typ   amr.Type
	field *amr.FieldSpec
	place int // index of the field in Meta.Fields
	dims  []int64
	bytes int64 // size of a field
	big   bool  // big-endian in the file being read

	ptype, attr int // for particles: type and attribute
}

func columnsOf(m *amr.Meta, fields []string, ghosts bool) ([]column, error) {
	var l []column
	for _, f := range fields {
		if !slices.ContainsFunc(m.Fields, func(s amr.FieldSpec) bool { return s.Name == f }) {
			return nil, fault.Usage("no field %q", f)
		}
	}
	for i := range m.Fields {
		s := &m.Fields[i]
		if fields != nil && !slices.Contains(fields, s.Name) {
			continue
		}
		l = append(l, column{name: fieldPrefix + s.Name, typ: s.Type, field: s, place: i, dims: dims(m.Shape(s, ghosts)), bytes: m.FieldBytes(s, ghosts)})
	}
	for i := range m.Particles {
		p := &m.Particles[i]
		for k := range p.Attrs {
			a := &p.Attrs[k]
			l = append(l, column{name: particleName(p, a), typ: a.Type, dims: []int64{1}, ptype: i, attr: k})
		}
	}
	seen := map[string]bool{}
	for i := range l {
		if seen[l[i].name] {
			return nil, fault.Usage("two datasets have the same name %s", l[i].name)
		}
		seen[l[i].name] = true
	}
	return l, nil
}

// size returns the bytes of the column in a block with np particles of each type.
func (c *column) size(np []int64) int64 {
	if c.field != nil {
		return c.bytes
	}
	return np[c.ptype] * int64(c.typ.Size())
}

func dataBytes(cols []column, np []int64) (n int64) {
	for i := range cols {
		n += up8(cols[i].size(np))
	}
	return n
}

func up8(n int64) int64 { return (n + 7) &^ 7 }

var zeros [8]byte

// arena is scratch memory that is released all at once.
type arena struct{ b []byte }

func (a *arena) take(n int64) []byte {
	if int64(cap(a.b)-len(a.b)) < n {
		a.b = make([]byte, 0, max(n, 1<<20, 2*int64(cap(a.b))))
	}
	at := len(a.b)
	a.b = a.b[:at+int(n)]
	return a.b[at : at+int(n) : at+int(n)]
}

func (a *arena) reset() { a.b = a.b[:0] }

// counts stores the number of particles of each type of Meta in np.
func counts(m *amr.Meta, b *amr.Block, np []int64) error {
	clear(np)
	for i := range b.Particles {
		p := &b.Particles[i]
		k := slices.IndexFunc(m.Particles, func(s amr.ParticleSpec) bool { return p.Spec != nil && s.Name == p.Spec.Name })
		if k < 0 {
			return fault.Usage("block %s: particle type %d does not exist in the run", b.Index.Name(m.Rank, m.Roots), i)
		}
		np[k] = int64(p.N)
	}
	return nil
}

// piece returns a column of a block in file form. The bytes are the block's own memory or belong to the arena.
func (j *job) piece(c *column, b *amr.Block, np []int64, a *arena) ([]byte, error) {
	var data []byte
	if c.field != nil {
		f := fieldOf(b, c.place, c.field.Name)
		if f == nil {
			return nil, j.blockErr(b, "field %q is missing", c.field.Name)
		}
		want := j.m.FieldBytes(c.field, f.Ghosts)
		if f.Spec.Type != c.typ || f.Spec.Centered != c.field.Centered || int64(len(f.Data)) != want {
			return nil, j.blockErr(b, "field %q has %d bytes of %v, want %d of %v", c.field.Name, len(f.Data), f.Spec.Type, want, c.typ)
		}
		data = f.Data
		switch {
		case want == c.bytes: // or the field has no ghost zones
		case f.Ghosts:
			data = a.take(c.bytes)
			j.m.Strip(data, f.Data, c.field)
		case j.yt != "":
			data = a.take(c.bytes)
			widen(data, f.Data, j.m.Shape(c.field, true), j.m.Shape(c.field, false), j.m.Ghost, c.typ.Size())
		default:
			return nil, j.blockErr(b, "field %q has no ghosts, want ghosts", c.field.Name)
		}
	} else {
		spec := &j.m.Particles[c.ptype]
		want := np[c.ptype] * int64(c.typ.Size())
		for i := range b.Particles {
			if p := &b.Particles[i]; p.Spec.Name == spec.Name {
				if len(p.Data) <= c.attr || len(p.Spec.Attrs) <= c.attr || p.Spec.Attrs[c.attr] != spec.Attrs[c.attr] || int64(len(p.Data[c.attr])) != want {
					return nil, j.blockErr(b, "particles %q: attribute %q differs from the attribute of the run, or does not have %d particles", spec.Name, spec.Attrs[c.attr].Name, np[c.ptype])
				}
				data = p.Data[c.attr]
			}
		}
	}
	if elem.HostBig && c.typ.Size() > 1 {
		out := a.take(int64(len(data)))
		elem.Swap(out, data, c.typ.Size())
		data = out
	}
	return data, nil
}

// fieldOf finds a field by name. It first looks at index place, because a block usually has its fields in the order of
// Meta.Fields.
func fieldOf(b *amr.Block, place int, name string) *amr.Field {
	if place < len(b.Fields) && b.Fields[place].Spec != nil && b.Fields[place].Spec.Name == name {
		return &b.Fields[place]
	}
	for i := range b.Fields {
		if b.Fields[i].Spec != nil && b.Fields[i].Spec.Name == name {
			return &b.Fields[i]
		}
	}
	return nil
}

func (j *job) blockErr(b *amr.Block, format string, args ...any) error {
	return fault.Usage("block %s (level %d): %s", b.Index.Name(j.m.Rank, j.m.Roots), b.Index.Level(), fmt.Sprintf(format, args...))
}

// widen copies a field without ghosts into one with ghosts. Each ghost gets the value of the nearest cell of the block. m and n
// are the shapes with and without ghosts, in elements, x first; g has the ghosts per axis.
func widen(dst, src []byte, m, n, g [3]int, size int) {
	clamp := func(i, axis int) int { return min(max(i-g[axis], 0), n[axis]-1) }
	for z := range m[2] {
		for y := range m[1] {
			for x := range m[0] {
				at := ((clamp(z, 2)*n[1]+clamp(y, 1))*n[0] + clamp(x, 0)) * size
				copy(dst[((z*m[1]+y)*m[0]+x)*size:][:size], src[at:])
			}
		}
	}
}

// shapeTemplate is the template for all groups with the same signature.
type shapeTemplate struct {
	*h5.Template
	attrs []attrShape
	bytes int64 // total size of the values
}

// template returns the template of a signature. Only one goroutine at a time may use the job.
func (j *job) template(sig int32) (*shapeTemplate, error) {
	if t := j.templates[sig]; t != nil {
		return t, nil
	}
	t := &shapeTemplate{attrs: parseSignature(j.enzo, j.plan.sigs[sig])}
	var err error
	t.Template, err = h5.NewTemplate(func(g *h5.Builder) {
		for _, a := range t.attrs {
			if a.typ.Class() == h5.ClassString {
				g.Attr(a.name, a.typ, []int64{a.n}, make([]string, a.n))
			} else {
				g.Attr(a.name, a.typ, []int64{a.n}, make([]int8, a.n))
			}
			t.bytes += a.n * a.typ.Size()
		}
		for i := range j.cols {
			c := &j.cols[i]
			g.Dataset(c.name, h5Type(c.typ), c.dims, nil)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("attributes of a block: %w", err)
	}
	j.templates[sig] = t
	return t, nil
}

// values writes the values of all attributes of the block at index i of the plan. at returns the destination of value k, with
// the right length.
func (j *job) values(t *shapeTemplate, i int64, b *amr.Block, at func(k int) []byte) error {
	p := place{m: j.m, enzo: j.enzo, order: i, count: int64(len(j.plan.blocks))}
	p.lo, p.hi = b.Index.Bounds(&j.m.Geometry)
	for k := range t.attrs {
		dst := at(k)
		name := t.attrs[k].name
		if v, ok := b.Attrs[name]; ok && !ownAttrs[name] {
			putExtra(dst, v)
			continue
		}
		if k != attrAdapt {
			p.derive(dst, k, b)
			continue
		}
		switch {
		case j.yt != "":
		case b.Adapt != nil:
			if len(b.Adapt) != adaptBytes {
				return j.blockErr(b, "adapt_buffer of %d bytes, want %d", len(b.Adapt), adaptBytes)
			}
			copy(dst, b.Adapt)
		default:
			if j.synth == nil {
				j.synth = newSynth(j.plan.tree)
			}
			if err := j.synth.encode(dst, b.Index); err != nil {
				return j.blockErr(b, "%v", err)
			}
		}
	}
	return nil
}
