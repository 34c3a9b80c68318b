package amr

import (
	"blobio/internal/base/fault"
	"fmt"
)

// Limits of an Index, which follow from the number of bits in its words.
const (
	MaxDepth   = 20      // maximum number of levels between a block and its root block
	MaxRoots   = 1 << 10 // maximum number of root blocks per axis
	MinLevel   = -10     // level at which 1024 root blocks make one block
	arrayBits  = 10
	treeBits   = MaxDepth
	arrayShift = 2  // bit position of the octree number in a word
	treeShift  = 12 // bit position of the child bits in a word
	arrayMask  = MaxRoots - 1
	levelCap   = 31 // maximum magnitude of a level in the level bits
)

// Index is Cello's block index: three int32 words, as on disk. docs/amr-index.md describes the bits. The zero Index is the root
// block of octree (0, 0, 0).
type Index [3]int32

// arrayOf and treeOf return the fields of a word. arrayOf returns the stored octree number; for a level -k its k low bits are
// zero. treeOf returns the child bits; bit 19 is the bit of level 1.
func arrayOf(w int32) uint32 { return uint32(w) >> arrayShift & arrayMask }
func treeOf(w int32) uint32  { return uint32(w) >> treeShift }

// levelBits returns the two low bits of each word for a level.
func levelBits(level int) [3]uint32 {
	sign, mag := uint32(0), uint32(level)
	if level < 0 {
		sign, mag = 1, uint32(-level)
	}
	return [3]uint32{mag & 3, mag >> 2 & 3, mag>>4&1<<1 | sign}
}

// withLevel returns x with the level bits of another level.
func (x Index) withLevel(level int) Index {
	for i, b := range levelBits(level) {
		x[i] = int32(uint32(x[i])&^3 | b)
	}
	return x
}

// Root returns the block of a level <= 0 at coordinates array, which count blocks of that level. On disk the coordinates are
// shifted up by -level. A level above 0 is treated as 0, and coordinates are truncated to the available bits. Check an Index made
// from external values with Geometry.Contains or Valid.
func Root(array [3]int, level int) Index {
	level = max(min(level, 0), -levelCap)
	var x Index
	for i, a := range array {
		x[i] = int32(uint32(a) << uint(-level) & arrayMask << arrayShift)
	}
	return x.withLevel(level)
}

// At returns the block of any level at coord. coord counts blocks of that level over all octrees. At is the inverse of Coord.
func At(level int, coord [3]int) Index {
	if level <= 0 {
		return Root(coord, level)
	}
	level = min(level, levelCap)
	depth := uint(min(level, MaxDepth))
	var x Index
	for i, c := range coord {
		u := uint32(c)
		x[i] = int32(u>>depth&arrayMask<<arrayShift | u<<(32-depth)&^(1<<treeShift-1))
	}
	return x.withLevel(level)
}

// Level returns the level: 0 for root blocks, negative for coarser blocks.
func (x Index) Level() int {
	mag := int(x[0]&3 | x[1]&3<<2 | x[2]&2<<3)
	if x[2]&1 != 0 {
		return -mag
	}
	return mag
}

// Array returns the octree of the block. For a level below 0 it returns the block's coordinates at its own level, like the
// attribute `array` of a checkpoint.
func (x Index) Array() [3]int {
	down := uint(max(-x.Level(), 0))
	var a [3]int
	for i, w := range x {
		a[i] = int(arrayOf(w) >> down)
	}
	return a
}

// Coord returns the coordinates of the block in blocks of its own level, over all octrees. They are below 2^30.
func (x Index) Coord() [3]int {
	level := x.Level()
	if level <= 0 {
		return x.Array()
	}
	depth := uint(min(level, MaxDepth))
	var c [3]int
	for i, w := range x {
		c[i] = int(arrayOf(w)<<depth | treeOf(w)>>(MaxDepth-depth))
	}
	return c
}

// Child returns child c of the block, one level finer. Each coordinate of c is 0 or 1. Blocks of levels below 0 have children,
// too: a child of a block of level -1 is a root block. The child of a block at MaxDepth is not Valid.
func (x Index) Child(c [3]int) Index {
	level := x.Level() + 1
	if level > levelCap {
		return x
	}
	for i := range c {
		x[i] |= int32(uint32(c[i]&1) << childBit(level))
	}
	return x.withLevel(level)
}

// Parent returns the block one level coarser that contains x. Root blocks and coarser blocks have parents, too.
func (x Index) Parent() Index {
	level := x.Level()
	if level <= -levelCap {
		return x
	}
	bit := uint32(1) << childBit(level)
	for i := range x {
		x[i] &^= int32(bit)
	}
	return x.withLevel(level - 1)
}

// childBit returns the position of the bit by which a block of a level differs from its siblings. The bit is one of the child
// bits or, for levels up to 0, one of the array bits. If a level has no such bit, childBit returns 32, which selects no bit.
func childBit(level int) uint {
	switch {
	case level > MaxDepth || level <= -arrayBits:
		return 32
	case level > 0:
		return uint(32 - level)
	}
	return uint(arrayShift - level)
}

// Ancestor returns the block of a level <= x.Level() that contains x.
func (x Index) Ancestor(level int) Index {
	for x.Level() > level {
		x = x.Parent()
	}
	return x
}

// ChildNumber returns the number of the block among the children of its parent: x + 2y + 4z, where (x, y, z) is the argument of
// Child.
func (x Index) ChildNumber() int {
	c := x.Coord()
	return c[0]&1 | c[1]&1<<1 | c[2]&1<<2
}

// Valid checks the words. The level must be within [MinLevel, MaxDepth]. These must be zero: child bits of finer levels, the low
// array bits of a level below 0, and coordinates on axes beyond rank. The error is a *FormatError of class ErrCorrupt without an
// offset; the caller adds the offset.
func (x Index) Valid(rank int) error {
	bad := func(format string, a ...any) error {
		return &fault.FormatError{Offset: -1, Field: "index", Msg: fmt.Sprintf("%d: ", x) + fmt.Sprintf(format, a...), Err: fault.ErrCorrupt}
	}
	if rank < 1 || rank > 3 {
		return bad("rank %d, want 1 to 3", rank)
	}
	level := x.Level()
	if level < MinLevel || level > MaxDepth {
		return bad("level %d, want %d to %d", level, MinLevel, MaxDepth)
	}
	if level == 0 && x[2]&1 != 0 {
		return bad("level -0")
	}
	for i, w := range x {
		axis, array, tree := "xyz"[i:i+1], arrayOf(w), treeOf(w)
		if i >= rank && (array != 0 || tree != 0) {
			return bad("%s coordinate is set, want 0 in %d dimensions", axis, rank)
		}
		if level < 0 && array&(1<<uint(-level)-1) != 0 {
			return bad("%s array bits %010b, want %d low zeros at level %d", axis, array, -level, level)
		}
		if unused := uint32(1<<treeBits-1) >> uint(max(level, 0)); tree&unused != 0 {
			return bad("%s child bits %020b, want zeros after the first %d", axis, tree, max(level, 0))
		}
	}
	return nil
}
