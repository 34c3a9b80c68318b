package amr

import (
	"blobio/internal/base/fault"
	"math"
)

// FieldSpec is the name of a field and the description of its elements.
type FieldSpec struct {
	Name     string
	Type     Type
	Centered [3]bool // face-centred along the axis, which then has one more element
	// Scrambled: the program that wrote the field put its cells in wrong places, which cannot be undone. Copies in every form keep
	// the mark.
	Scrambled bool
}

// ParticleSpec is a type of particles and its attributes.
type ParticleSpec struct {
	Name  string
	Attrs []AttrSpec
}

// AttrSpec is one attribute of a type of particles: a column.
type AttrSpec struct {
	Name string
	Type Type
}

// Field is the data of one field of one block.
type Field struct {
	Spec   *FieldSpec
	Ghosts bool // Data include ghost zones
	// Data are the elements in the byte order of the host, x fastest, of
	// shape Geometry.Shape(Spec, Ghosts): (mz, my, mx) slowest first.
	Data []byte
}

// Particles are the particles of one type in one block.
type Particles struct {
	Spec *ParticleSpec
	N    int
	Data [][]byte // per attribute: N elements in the byte order of the host
}

// Block is one block with its data. Refined blocks and blocks of levels below
// 0 hold data too.
type Block struct {
	Index     Index
	Leaf      bool
	Cycle     int32
	Time, Dt  float64
	Cost      float64 // for load balancing; 0: unknown
	Fields    []Field
	Particles []Particles
	Adapt     []byte         // the adapt_buffer from a checkpoint; nil: computed on writing
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
	Attrs     map[string]any // further attributes of the whole
	// Unverified: the data were read without comparing their checksums. Copies keep the mark.
	Unverified bool
	// Files is the number of files that hold the blocks, or held them before a conversion; 0: unknown. A form with several files
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
				return fault.Usage("field %q: face-centred on axis %d of %d", f.Name, i, m.Rank)
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
				return fault.Usage("particles %q, attribute %q: no name, named twice or %v", p.Name, a.Name, a.Type)
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
