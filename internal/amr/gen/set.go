package gen

import (
	"encoding/binary"
	"math"

	"blobio/internal/amr"
)

// Set is a tree with data. Blocks are computed one by one, so a set of any size needs little memory. It is safe for concurrent
// use.
type Set struct {
	Meta      *amr.Meta
	Tree      *amr.Tree
	Seed      uint64
	Ghosts    bool // fields include ghosts
	Particles int  // maximum number of particles per type in a leaf; refined blocks have no particles
}

// NewSet returns the set of a tree. Every block has all fields and particle types.
func NewSet(t *amr.Tree, seed uint64, fields []amr.FieldSpec, particles []amr.ParticleSpec) *Set {
	t.Sorted() // after this, calls only read the tree
	return &Set{
		Meta: &amr.Meta{Geometry: *t.Geometry(), Cycle: 10, Time: 0.125, Dt: 1.0 / 1024, Fields: fields, Particles: particles},
		Tree: t, Seed: seed, Particles: 8,
	}
}

// All returns all blocks, with data, in Morton order.
func (s *Set) All() []*amr.Block {
	var out []*amr.Block
	for _, x := range s.Tree.Sorted() {
		out = append(out, s.Block(x))
	}
	return out
}

// Head returns a block without data.
func (s *Set) Head(x amr.Index) *amr.Block {
	return &amr.Block{Index: x, Leaf: s.Tree.Leaf(x), Cycle: s.Meta.Cycle, Time: s.Meta.Time, Dt: s.Meta.Dt, Cost: s.Cost(x)}
}

// Cost returns a block's cost, 1 to 4. Its steps are exact in any floating-point type.
func (s *Set) Cost(x amr.Index) float64 {
	return 1 + float64(hash(s.Seed, 1, word(x, 0), word(x, 1), word(x, 2))%3072)/1024
}

// Block returns a block with its data.
func (s *Set) Block(x amr.Index) *amr.Block {
	b := s.Head(x)
	for i := range s.Meta.Fields {
		spec := &s.Meta.Fields[i]
		data := make([]byte, s.Meta.FieldBytes(spec, s.Ghosts))
		s.Fill(data, x, i)
		b.Fields = append(b.Fields, amr.Field{Spec: spec, Ghosts: s.Ghosts, Data: data})
	}
	for i := range s.Meta.Particles {
		b.Particles = append(b.Particles, s.particles(x, i))
	}
	return b
}

func word(x amr.Index, i int) uint64 { return uint64(uint32(x[i])) }

// Fill writes a field of block x to dst, which has FieldBytes bytes.
func (s *Set) Fill(dst []byte, x amr.Index, field int) {
	spec, m := &s.Meta.Fields[field], s.Meta
	shape, at := m.Shape(spec, s.Ghosts), x.Coord()
	var first [3]uint64 // number of the first cell in the domain
	for i := range 3 {
		c := int64(at[i]) * int64(m.Block[i])
		if s.Ghosts {
			c -= int64(m.Ghost[i])
		}
		first[i] = uint64(c)
	}
	base := hash(s.Seed, uint64(field), uint64(int64(x.Level())))
	size := spec.Type.Size()
	for z := range shape[2] {
		for y := range shape[1] {
			row := mix(mix(base^(first[2]+uint64(z))) ^ (first[1] + uint64(y)))
			n := shape[0] * size
			fillRow(dst[:n], spec.Type, row, first[0])
			dst = dst[n:]
		}
	}
}

func fillRow(dst []byte, t amr.Type, row, first uint64) {
	order := binary.NativeEndian
	switch t {
	case amr.Float32:
		for i := range len(dst) / 4 {
			order.PutUint32(dst[4*i:], math.Float32bits(float32(1+float64(mix(row^(first+uint64(i)))>>41)/(1<<23))))
		}
	case amr.Float64:
		for i := range len(dst) / 8 {
			order.PutUint64(dst[8*i:], math.Float64bits(1+float64(mix(row^(first+uint64(i)))>>12)/(1<<52)))
		}
	case amr.Int8:
		for i := range dst {
			dst[i] = byte(mix(row ^ (first + uint64(i))))
		}
	case amr.Int16:
		for i := range len(dst) / 2 {
			order.PutUint16(dst[2*i:], uint16(mix(row^(first+uint64(i)))))
		}
	case amr.Int32:
		for i := range len(dst) / 4 {
			order.PutUint32(dst[4*i:], uint32(mix(row^(first+uint64(i)))))
		}
	case amr.Int64:
		for i := range len(dst) / 8 {
			order.PutUint64(dst[8*i:], mix(row^(first+uint64(i))))
		}
	}
}

// particles makes 0 to s.Particles particles of one type in a leaf. Floating-point attributes x, y, z are positions inside the
// block. Attributes of 64-bit integers are unique in the set.
func (s *Set) particles(x amr.Index, kind int) amr.Particles {
	spec := &s.Meta.Particles[kind]
	p := amr.Particles{Spec: spec, Data: make([][]byte, len(spec.Attrs))}
	base := hash(s.Seed, 2, uint64(kind), word(x, 0), word(x, 1), word(x, 2))
	if s.Tree.Leaf(x) && s.Particles > 0 {
		p.N = int(base % uint64(s.Particles+1))
	}
	lo, hi := x.Bounds(&s.Meta.Geometry)
	for j, a := range spec.Attrs {
		size := a.Type.Size()
		d := make([]byte, p.N*size)
		axis := -1
		if len(a.Name) == 1 && a.Name[0] >= 'x' && a.Name[0] <= 'z' && a.Type.Float() {
			axis = int(a.Name[0] - 'x')
		}
		for i := range p.N {
			h := mix(base ^ uint64(j)<<32 ^ uint64(i))
			at := d[i*size:]
			if axis < 0 {
				fillRow(at[:size], a.Type, h, 0)
				continue
			}
			// A fraction of 12 bits, never 0 or 1, gives an exact position if the number of blocks is a power of two.
			v := lo[axis] + float64((hi[axis]-lo[axis])*(float64(h>>52)+0.5)/4096)
			if a.Type == amr.Float32 {
				binary.NativeEndian.PutUint32(at, math.Float32bits(float32(v)))
			} else {
				binary.NativeEndian.PutUint64(at, math.Float64bits(v))
			}
		}
		p.Data[j] = d
	}
	return p
}
