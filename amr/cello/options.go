package cello

import (
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// The mesh types of package amr, whose names are Cello's terms. A mesh is an array of octrees (quadtrees or binary trees) of
// equal blocks.
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
	Ordering = amr.Ordering // order of the blocks, along which they are divided among ranks
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

// At returns the index of the block at coord on a level. coord counts blocks of that level.
func At(level int, coord [3]int) Index { return amr.At(level, coord) }

// OrderingByName returns the ordering with the name morton, hilbert or roots.
func OrderingByName(name string) (Ordering, error) { return amr.OrderingByName(name) }

// Values of Options.Cut and RestartOptions.Cut. They select how the curve is cut into parts: files, or ranks of a restart.
const (
	// cutBlocks (or "") selects Enzo-E's rule: block i belongs to part floor(i*parts/blocks).
	cutBlocks = "blocks"
	// cutBytes gives parts with about equal numbers of bytes, cutCost parts with about equal sums of Block.Cost. A block of
	// unknown cost gets the mean cost.
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

// startsOf cuts n blocks into parts. It returns the weights that it used, and starts, which has the first block of each part and
// then n.
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

// knownCosts replaces unknown costs (0) by the mean of the known costs.
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

// Options are the options of Write. A nil pointer means the defaults.
type Options struct {
	// Files is the number of HDF5 files, 1 to 2^20; 0 (default): one per node. If there are more files than blocks, some files
	// are valid but have no blocks. Enzo-E reads such files, though it hangs when it has to write them.
	Files    int
	Ordering amr.Ordering // default amr.Morton
	// Cut selects how the blocks are divided among the files. "blocks" (default, also "") gives each file the same number of
	// blocks, like Enzo-E. "bytes" gives files of about equal size. "cost" gives files of about equal sums of Block.Cost, where a
	// block of unknown cost gets the mean cost.
	Cut string
	// Ghosts: write fields with their ghost zones; all blocks must have them. Default: write fields without ghosts.
	Ghosts bool
	// EnzoFloat is the type of the attributes enzo_*, Float32 or Float64. It must match the program that will read the file. 0
	// (default): the type of the first floating-point field.
	EnzoFloat amr.Type

	// ForEnzoE writes the dimensions of field datasets in reverse, x first, as Enzo-E reads them on restart. Enzo-E can then restart
	// from blocks of any shape. The data bytes are the same in both forms. Other programs see the axes in reverse; this package
	// reads the order from the manifest. ForEnzoE cannot be combined with the options of a dump.
	ForEnzoE bool

	// If any of these options is set, Write makes a data dump, from which no program can restart. The options select fields (nil:
	// all), the lowest and highest level, and leaves.
	Fields     []string
	Levels     *[2]int
	LeavesOnly bool

	// Memory is the memory in bytes that a writer uses for blocks from other processes and for conversion: 64 KiB to 1 GiB, default
	// (0) 16 MiB. A single block may need more.
	Memory int64
	// NoSync skips all syncs: the checkpoint survives a crash of the program but not of the machine. Default: files, directories and
	// names are synced in an order that survives a power loss.
	NoSync bool

	FS vfs.FS // default (nil): the file system of the operating system
}

// dump reports whether the options ask for a dump.
func (o *Options) dump() bool {
	return o.Fields != nil || o.Levels != nil || o.LeavesOnly
}

func (o *Options) validate() error {
	switch {
	case o.Files < 0 || o.Files > maxFiles:
		return fault.Usage("Options.Files %d, want 0 to %d", o.Files, maxFiles)
	case o.EnzoFloat != 0 && !o.EnzoFloat.Float():
		return fault.Usage("Options.EnzoFloat %v, want float32 or float64", o.EnzoFloat)
	case o.ForEnzoE && o.dump():
		return fault.Usage("Options.ForEnzoE cannot be combined with Fields, Levels or LeavesOnly")
	case o.Levels != nil && o.Levels[0] > o.Levels[1]:
		return fault.Usage("Options.Levels %d to %d is an empty range", o.Levels[0], o.Levels[1])
	case o.Memory != 0 && (o.Memory < minMemory || o.Memory > maxMemory):
		return fault.Usage("Options.Memory %d, want %d to %d", o.Memory, minMemory, maxMemory)
	}
	return checkCut(o.Cut)
}

// withDefaults returns a copy in which defaults replace zero values. It leaves Files and EnzoFloat unchanged.
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
