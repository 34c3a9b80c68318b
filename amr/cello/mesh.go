package cello

import (
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
)

// The mesh in memory: an array of octrees (quadtrees, binary trees) of equal blocks, in the terms of Cello.
type (
	Meta         = amr.Meta         // what all blocks share
	Geometry     = amr.Geometry     // domain, root blocks, size of a block
	FieldSpec    = amr.FieldSpec    // a field that all blocks have
	ParticleSpec = amr.ParticleSpec // a type of particles, and its attributes
	AttrSpec     = amr.AttrSpec     // an attribute of particles
	Type         = amr.Type         // of the elements of a field

	Index     = amr.Index     // a block's place in the mesh
	Block     = amr.Block     // a block and its data
	Field     = amr.Field     // values of a field in one block, x fastest
	Particles = amr.Particles // the particles of one type in one block

	Tree     = amr.Tree     // the blocks that exist
	Ordering = amr.Ordering // the order of blocks along which ranks are cut
	Quality  = sfc.Quality  // how even a cut is
)

// Types of elements.
const (
	Float32 = amr.Float32
	Float64 = amr.Float64
	Int8    = amr.Int8
	Int16   = amr.Int16
	Int32   = amr.Int32
	Int64   = amr.Int64
)

// NewRootTree returns the tree that holds the root blocks of a mesh.
func NewRootTree(g *Geometry) (*Tree, error) { return amr.NewRootTree(g) }

// At returns the index of the block of a level at a position, counted in blocks of that level.
func At(level int, coord [3]int) Index { return amr.At(level, coord) }

// OrderingByName returns the ordering of a name: morton, hilbert or roots.
func OrderingByName(name string) (Ordering, error) { return amr.OrderingByName(name) }
