package netcdf

import (
	"fmt"
	"math"

	"blobio/cdf5"
	"blobio/internal/amr"
	"blobio/internal/base/fault"
)

// addTables adds variables with one row for each block: its properties, and the positions of its rows in the
// lists.
func (l *layout) addTables(block int, s *summary) {
	g := &l.meta.Geometry
	add := func(name string, t cdf5.Type, long string, dims []int, row func(b []byte, p *placed) []byte) {
		l.vars = append(l.vars, variable{name: name, typ: t, dims: append([]int{block}, dims...), atts: []cdf5.Att{att("long_name", long)}, list: -1,
			row: func(scratch []byte, p *placed) ([]byte, error) { return row(scratch[:0], p), nil }})
	}
	i32 := func(b []byte, v int32) []byte { return native.AppendUint32(b, uint32(v)) }
	i64 := func(b []byte, v int64) []byte { return native.AppendUint64(b, uint64(v)) }
	f64 := func(b []byte, v float64) []byte { return native.AppendUint64(b, math.Float64bits(v)) }
	axis := []int{l.dim("axis", 3)}
	add("block_index", cdf5.Int, "block index, the three words of Cello", axis, func(b []byte, p *placed) []byte {
		return i32(i32(i32(b, p.Index[0]), p.Index[1]), p.Index[2])
	})
	add("block_level", cdf5.Int, "refinement level, 0 for root blocks", nil, func(b []byte, p *placed) []byte { return i32(b, int32(p.Index.Level())) })
	add("block_order", cdf5.Int64, "place along the ordering", nil, func(b []byte, p *placed) []byte { return i64(b, p.pos) })
	add("block_parent", cdf5.Int64, "row of the parent block, -1 if it is not here", nil, func(b []byte, p *placed) []byte { return i64(b, p.parent) })
	add("block_leaf", cdf5.Byte, "1 if the block is not refined", nil, func(b []byte, p *placed) []byte {
		if p.Leaf {
			return append(b, 1)
		}
		return append(b, 0)
	})
	add("block_cost", cdf5.Double, "cost for balancing, 0 if it is not known", nil, func(b []byte, p *placed) []byte { return f64(b, p.Cost) })
	for k, name := range []string{"lower", "upper"} {
		add("block_"+name, cdf5.Double, name+" corner of the block", axis, func(b []byte, p *placed) []byte {
			lo, hi := p.Index.Bounds(g)
			v := [2][3]float64{lo, hi}[k]
			return f64(f64(f64(b, v[0]), v[1]), v[2])
		})
	}
	add("block_cycle", cdf5.Int, "cycle of the block", nil, func(b []byte, p *placed) []byte { return i32(b, p.Cycle) })
	add("block_time", cdf5.Double, "time of the block", nil, func(b []byte, p *placed) []byte { return f64(b, p.Time) })
	add("block_dt", cdf5.Double, "time step of the block", nil, func(b []byte, p *placed) []byte { return f64(b, p.Dt) })
	for i := range l.lists {
		x := &l.lists[i]
		add("block_"+x.name+"_count", cdf5.Int64, "rows of the block in "+x.name, nil, func(b []byte, p *placed) []byte { return i64(b, x.count(p.Block)) })
		add("block_"+x.name+"_start", cdf5.Int64, "first row of the block in "+x.name, nil, func(b []byte, p *placed) []byte { return i64(b, p.at[i]) })
	}
	if s.Adapt {
		add("block_adapt_size", cdf5.Int, "bytes of adapt with the zeros at its end, -1 if there is none", nil, func(b []byte, p *placed) []byte {
			if p.Adapt == nil {
				return i32(b, -1)
			}
			return i32(b, int32(len(p.Adapt)))
		})
	}
}

// addField adds a variable for a field. Its shape is blocks x nz x ny x nx, with as many axes as the tree
// has.
func (l *layout) addField(block, i int, f *amr.Field) {
	shape := l.meta.Shape(f.Spec, f.Ghosts)
	dims := []int{block}
	centered := []int32{0, 0, 0}
	for a := l.meta.Rank - 1; a >= 0; a-- {
		name := "xyz"[a : a+1]
		if f.Spec.Centered[a] {
			name += "_face"
		}
		if f.Ghosts {
			name += "_ghost"
		}
		dims = append(dims, l.dim(name, int64(shape[a])))
	}
	for a := range 3 {
		if f.Spec.Centered[a] {
			centered[a] = 1
		}
	}
	ghosts := int32(0)
	if f.Ghosts {
		ghosts = 1
	}
	want := l.meta.FieldBytes(f.Spec, f.Ghosts)
	atts := []cdf5.Att{att("face_centered", centered), att("ghosts", ghosts)}
	if f.Spec.Scrambled {
		atts = append(atts, att("scrambled", int32(1)))
	}
	l.vars = append(l.vars, variable{name: "field_" + f.Spec.Name, typ: fileTypes[f.Spec.Type], dims: dims, list: -1, atts: atts, of: origin{kind: ofField, i: i},
		row: func(_ []byte, p *placed) ([]byte, error) {
			if d := p.Fields[i].Data; int64(len(d)) == want {
				return d, nil
			}
			return nil, fault.Usage("block %s: field %q has %d bytes, want %d", p.Index.Name(l.meta.Rank, l.meta.Roots), f.Spec.Name, len(p.Fields[i].Data), want)
		}})
}

// addParticles adds a flat variable for each attribute of each type.
func (l *layout) addParticles() {
	for i := range l.meta.Particles {
		spec := &l.meta.Particles[i]
		li := l.listIndex("particle_" + spec.Name)
		if len(spec.Attrs) == 0 {
			continue
		}
		d := l.dim("n_particle_"+spec.Name, l.lists[li].total)
		for k, a := range spec.Attrs {
			l.vars = append(l.vars, variable{name: "particle_" + spec.Name + "_" + a.Name, typ: fileTypes[a.Type], dims: []int{d}, list: li, of: origin{ofParticles, i, k},
				atts: []cdf5.Att{att("particle_type", spec.Name), att("particle_attribute", a.Name)},
				row: func(_ []byte, p *placed) ([]byte, error) {
					for i := range p.Particles {
						if q := &p.Particles[i]; q.Spec.Name == spec.Name {
							if k < len(q.Data) && len(q.Data[k]) == q.N*a.Type.Size() {
								return q.Data[k], nil
							}
							return nil, fault.Usage("block %s: attribute %q of particle type %q does not have %d values, one for each particle", p.Index.Name(l.meta.Rank, l.meta.Roots), a.Name, spec.Name, q.N)
						}
					}
					return nil, nil
				}})
		}
	}
}

func (l *layout) addBytes(name string, li int, of func(b *amr.Block) []byte, atts ...cdf5.Att) {
	l.vars = append(l.vars, variable{name: name, typ: cdf5.UByte, dims: []int{l.dim("n_"+name, l.lists[li].total)}, list: li, atts: atts, of: origin{kind: ofAdapt},
		row: func(_ []byte, p *placed) ([]byte, error) { return of(p.Block), nil }})
}

// addAttr adds a variable for a further attribute. If all blocks have equally many elements, the variable has
// a row for each block; otherwise it is a list.
func (l *layout) addAttr(block int, name string, a *attrsOf, blocks int64) {
	v := variable{name: "attr_" + name, typ: a.Type, list: -1, dims: []int{block}, atts: []cdf5.Att{att("attribute", name), att("kind", int32(a.Kind))}}
	if !a.fixed(blocks) {
		v.list = l.listIndex(v.name)
		v.dims = []int{l.dim("n_"+v.name, l.lists[v.list].total)}
	} else if a.Len > 1 {
		v.dims = append(v.dims, l.dim(fmt.Sprintf("n%d", a.Len), a.Len))
	}
	v.row = func(_ []byte, p *placed) ([]byte, error) {
		x, ok := p.Attrs[name]
		if !ok {
			return nil, nil
		}
		s, _, _, _ := toSlice(x)
		return bytesOf(s), nil
	}
	l.vars = append(l.vars, v)
}
