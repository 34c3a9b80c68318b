package cello

import (
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// A mesh in memory is an array of octrees (quadtrees, binary trees) of equal blocks. The types use Cello's terms.
type (
	Meta         = amr.Meta         // common description of all blocks
	Geometry     = amr.Geometry     // domain, root blocks, size of a block
	FieldSpec    = amr.FieldSpec    // a field that all blocks have
	ParticleSpec = amr.ParticleSpec // a type of particles, and its attributes
	AttrSpec     = amr.AttrSpec     // an attribute of particles
	Type         = amr.Type         // element type of a field

	Index     = amr.Index     // position of a block in the mesh
	Block     = amr.Block     // a block and its data
	Field     = amr.Field     // values of a field in one block, x fastest
	Particles = amr.Particles // the particles of one type in one block

	Tree     = amr.Tree     // the blocks that exist
	Ordering = amr.Ordering // order of the blocks by which they are divided among ranks
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

// At returns the index of the block of a level at coord, counted in blocks of that level.
func At(level int, coord [3]int) Index { return amr.At(level, coord) }

// OrderingByName returns the ordering with a name: morton, hilbert or roots.
func OrderingByName(name string) (Ordering, error) { return amr.OrderingByName(name) }

// Values of Options.Cut and RestartOptions.Cut. They select how the curve is cut into parts: files, or ranks of a restart.
const (
	// cutBlocks, also "", is Enzo-E's rule: block i belongs to part floor(i*parts/blocks).
	cutBlocks = "blocks"
	// cutBytes gives parts of about equal bytes, and cutCost of about equal costs. The cost is Block.Cost; blocks of unknown cost
	// count as the mean.
	cutBytes = "bytes"
	cutCost  = "cost"
)

func checkCut(how string) error {
	switch how {
	case "", cutBlocks, cutBytes, cutCost:
		return nil
	}
	return fault.Usage("cut %q, want blocks, bytes or cost", how)
}

// startsOf cuts n blocks into parts. It returns the first block of each part, then n, and the weights used.
func startsOf(how string, n, parts int, weight func(i int) (bytes, cost float64)) (starts []int, w []float64) {
	w = make([]float64, n)
	for i := range w {
		switch bytes, cost := weight(i); how {
		case cutBytes:
			w[i] = bytes
		case cutCost:
			w[i] = cost
		default:
			w[i] = 1
		}
	}
	switch how {
	case "", cutBlocks:
		return sfc.ByCount(n, parts), w
	case cutCost:
		knownCosts(w)
	}
	return sfc.ByWeight(w, parts), w
}

// knownCosts sets unknown costs (0) to the mean of the others.
func knownCosts(w []float64) {
	sum, known := 0.0, 0
	for _, c := range w {
		if c > 0 {
			sum += c
			known++
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / float64(known)
	}
	for i, c := range w {
		if c <= 0 {
			w[i] = mean
		}
	}
}

const (
	defaultMemory = 16 << 20
	minMemory     = 64 << 10
	maxMemory     = 1 << 30
	maxFiles      = 1 << 20
)

// Options are the options of Write. nil means the defaults.
type Options struct {
	// Files is the number of HDF5 files, 1 to 2^20; 0 (default): one per node. If there are more files than blocks, the rest are
	// valid files without blocks. Enzo-E reads such files (but hangs when it writes them).
	Files    int
	Ordering amr.Ordering // default amr.Morton
	// Cut selects how the blocks are divided among the files. "blocks" (default, also "") gives equal numbers, like Enzo-E. "bytes"
	// and "cost" give parts of about equal bytes or costs (Block.Cost; blocks of unknown cost count as the mean).
	Cut string
	// Ghosts: write fields with their ghost zones; all blocks must have them. Default: without.
	Ghosts bool
	// EnzoFloat is the type of the attributes enzo_*, Float32 or Float64. It must match the program that will read the file. 0
	// (default): the type of the first floating-point field.
	EnzoFloat amr.Type

	// ForEnzoE writes the dimensions of field datasets in reverse, x first, as Enzo-E reads them on restart. Enzo-E can then restart
	// from blocks of any shape. The data bytes are the same. Other programs see the axes in reverse; this package knows the order
	// from the manifest. ForEnzoE excludes dumps.
	ForEnzoE bool

	// Any of the following fields makes a data dump, which does not allow a restart. They select fields (nil: all), the lowest and
	// highest level, and leaves.
	Fields     []string
	Levels     *[2]int
	LeavesOnly bool

	// Memory is the memory in bytes that a writer uses for blocks from other processes and for conversion: 64 KiB to 1 GiB, default
	// (0) 16 MiB. A single block may exceed it.
	Memory int64
	// NoSync skips all syncs: the checkpoint survives a crash of the program but not of the machine. Default: files, directories and
	// names are synced in an order that survives a power loss.
	NoSync bool

	FS vfs.FS // default (nil): the operating system's
}

// dump reports whether the options ask for a dump.
func (o *Options) dump() bool {
	return o.Fields != nil || o.Levels != nil || o.LeavesOnly
}

// validate returns an error of class ErrUsage if a field is out of range.
func (o *Options) validate() error {
	switch {
	case o.Files < 0 || o.Files > maxFiles:
		return fault.Usage("Options.Files %d, want 0 to %d", o.Files, maxFiles)
	case o.EnzoFloat != 0 && !o.EnzoFloat.Float():
		return fault.Usage("Options.EnzoFloat %v, want float32 or float64", o.EnzoFloat)
	case o.ForEnzoE && o.dump():
		return fault.Usage("Options.ForEnzoE of a dump, from which nobody restarts")
	case o.Levels != nil && o.Levels[0] > o.Levels[1]:
		return fault.Usage("Options.Levels %d to %d", o.Levels[0], o.Levels[1])
	case o.Memory != 0 && (o.Memory < minMemory || o.Memory > maxMemory):
		return fault.Usage("Options.Memory %d, want %d to %d", o.Memory, minMemory, maxMemory)
	}
	return checkCut(o.Cut)
}

// withDefaults returns a copy with defaults in place of zero values, except for Files and EnzoFloat.
func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	if err := d.validate(); err != nil {
		return d, err
	}
	if d.Ordering == nil {
		d.Ordering = amr.Morton{}
	}
	if d.Memory == 0 {
		d.Memory = defaultMemory
	}
	d.FS = vfs.OrOS(d.FS)
	if d.NoSync {
		d.FS = vfs.NoSync(d.FS)
	}
	return d, nil
}
