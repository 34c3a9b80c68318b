package amr

import (
	"blobio/internal/base/fault"
	"math"
)

// FieldSpec describes a field: its name and its elements.
type FieldSpec struct {
	Name     string
	Type     Type
	Centered [3]bool // face-centred along the axis, which then has one more element
	// Scrambled means that the program that wrote the field stored the cells in wrong places, which cannot be undone. Copies keep
	// the mark, in every format.
	Scrambled bool
}

type ParticleSpec struct {
	Name  string
	Attrs []AttrSpec
}

// AttrSpec describes one attribute of a type of particles.
type AttrSpec struct {
	Name string
	Type Type
}

// Field is the data of one field of one block.
type Field struct {
	Spec   *FieldSpec
	Ghosts bool // Data include ghost zones
	// Data are the elements in the byte order of the host, x fastest. Geometry.Shape(Spec, Ghosts) is their shape.
	Data []byte
}

// Particles are the particles of one type in one block.
type Particles struct {
	Spec *ParticleSpec
	N    int
	Data [][]byte // for each attribute: N elements in the byte order of the host
}

// Block is one block with its data. Refined blocks and blocks of levels below
// 0 hold data too.
type Block struct {
	Index     Index
	Leaf      bool
	Cycle     int32
	Time, Dt  float64
	Cost      float64 // cost for load balancing; 0: unknown
	Fields    []Field
	Particles []Particles
	Adapt     []byte         // adapt_buffer from a checkpoint; nil: the writer computes it
	Attrs     map[string]any // further attributes
}

// Meta describes a whole tree.
type Meta struct {
	Geometry
	Cycle     int32
	Time, Dt  float64
	Redshift  float64
	Fields    []FieldSpec
	Particles []ParticleSpec
	Attrs     map[string]any // further attributes of the tree
	// Unverified means that the data were read without a comparison of checksums. Copies keep the mark.
	Unverified bool
	// Files is the number of files that hold the blocks, or held them before a conversion; 0: unknown. A writer of several files
	// uses this number by default.
	Files int
}

// Validate checks geometry and specifications. The error is of class ErrUsage.
func (m *Meta) Validate() error {
	if err := m.Geometry.Validate(); err != nil {
		return err
	}
	if m.Files < 0 || m.Files > math.MaxInt32 {
		return fault.Usage("%d files", m.Files)
	}
	seen := map[string]bool{}
	for _, f := range m.Fields {
		if f.Name == "" || seen[f.Name] {
			return fault.Usage("field %q has an empty or repeated name", f.Name)
		}
		seen[f.Name] = true
		if !f.Type.Valid() {
			return fault.Usage("field %q: %v", f.Name, f.Type)
		}
		for i := m.Rank; i < 3; i++ {
			if f.Centered[i] {
				return fault.Usage("field %q is face-centred on axis %d, but there are only %d axes", f.Name, i, m.Rank)
			}
		}
	}
	clear(seen)
	for _, p := range m.Particles {
		if p.Name == "" || seen[p.Name] {
			return fault.Usage("particle type %q has an empty or repeated name", p.Name)
		}
		seen[p.Name] = true
		attrs := map[string]bool{}
		for _, a := range p.Attrs {
			if a.Name == "" || attrs[a.Name] || !a.Type.Valid() {
				return fault.Usage("particles %q, attribute %q: empty or repeated name, or invalid type %v", p.Name, a.Name, a.Type)
			}
			attrs[a.Name] = true
		}
	}
	return nil
}

// Field returns the field of this name, or nil.
func (b *Block) Field(name string) *Field {
	for i := range b.Fields {
		if b.Fields[i].Spec.Name == name {
			return &b.Fields[i]
		}
	}
	return nil
}
