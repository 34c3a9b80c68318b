package amr

import (
	"fmt"
)

// Limits of an Index. They follow from the bits of its words.
const (
	MaxDepth   = 20      // deepest level of a block below its root block
	MaxRoots   = 1 << 10 // root blocks per axis
	MinLevel   = -10     // 1024 root blocks make one block at this level
	arrayBits  = 10
	treeBits   = MaxDepth
	arrayShift = 2  // of the octree number in a word
	treeShift  = 12 // of the child bits in a word
	arrayMask  = MaxRoots - 1
	treeMask   = 1<<treeBits - 1
	levelCap   = 31 // largest magnitude of a level that the bits can say
)

// Index is Cello's block index: three int32 words, as on disk. See the
// package comment for the bits. The zero Index is the root block of octree
// (0, 0, 0).
type Index [3]int32

// fields of an index: octree number as stored (so for a level -k with k zero
// low bits) and child bits, the first child's in bit 19.
type fields struct {
	level int
	array [3]uint32
	tree  [3]uint32
}

func (x Index) fields() fields {
	var f fields
	f.level = x.Level()
	for i, w := range x {
		f.array[i] = uint32(w) >> arrayShift & arrayMask
		f.tree[i] = uint32(w) >> treeShift & treeMask
	}
	return f
}

func (f fields) index() Index {
	sign, mag := uint32(0), uint32(f.level)
	if f.level < 0 {
		sign, mag = 1, uint32(-f.level)
	}
	lev := [3]uint32{mag & 3, mag >> 2 & 3, mag>>4&1<<1 | sign}
	var x Index
	for i := range x {
		x[i] = int32(lev[i] | f.array[i]&arrayMask<<arrayShift | f.tree[i]&treeMask<<treeShift)
	}
	return x
}

// Root returns the block of a level <= 0 at array, its coordinates in blocks
// of that level. On disk they are shifted up by -level. Levels above 0 are
// taken as 0; coordinates are cut to the bits that there are: check what comes
// from outside with Geometry.Contains or Valid.
func Root(array [3]int, level int) Index {
	level = max(min(level, 0), -levelCap)
	f := fields{level: level}
	for i, a := range array {
		f.array[i] = uint32(a) << uint(-level)
	}
	return f.index()
}

// At returns the block of any level at coord, its coordinates in blocks of
// that level over all octrees. It is the inverse of Coord.
func At(level int, coord [3]int) Index {
	if level <= 0 {
		return Root(coord, level)
	}
	level = min(level, levelCap)
	f := fields{level: level}
	depth := uint(min(level, MaxDepth))
	for i, c := range coord {
		u := uint32(c)
		f.array[i] = u >> depth
		f.tree[i] = u << (MaxDepth - depth)
	}
	return f.index()
}

// Level returns the level: 0 for root blocks, below 0 for the blocks above
// them.
func (x Index) Level() int {
	mag := int(x[0]&3 | x[1]&3<<2 | x[2]&2<<3)
	if x[2]&1 != 0 {
		return -mag
	}
	return mag
}

// Array returns the octree that the block is in; for a level below 0, the
// block's coordinates at its own level (shifted down, as the attribute `array`
// of a checkpoint has it).
func (x Index) Array() [3]int {
	f := x.fields()
	var a [3]int
	for i := range a {
		a[i] = int(f.array[i])
		if f.level < 0 {
			a[i] >>= uint(-f.level)
		}
	}
	return a
}

// Coord returns the coordinates of the block in blocks of its own level, over
// all octrees; below 2^30.
func (x Index) Coord() [3]int {
	if x.Level() <= 0 {
		return x.Array()
	}
	f := x.fields()
	depth := uint(min(f.level, MaxDepth))
	var c [3]int
	for i := range c {
		c[i] = int(f.array[i]<<depth | f.tree[i]>>(MaxDepth-depth))
	}
	return c
}

// Child returns child c, each 0 or 1 (x, y, z), one level finer. From a level
// below 0 the child is a block of the next level, up to the root blocks. The
// child of a block at MaxDepth is not Valid.
func (x Index) Child(c [3]int) Index {
	f := x.fields()
	if f.level >= levelCap {
		return x
	}
	f.level++
	for i := range c {
		b := uint32(c[i] & 1)
		switch {
		case f.level <= 0:
			f.array[i] |= b << uint(-f.level)
		case f.level <= MaxDepth:
			f.tree[i] |= b << uint(MaxDepth-f.level)
		}
	}
	return f.index()
}

// Parent returns the block one level coarser that holds this one, also below
// level 0.
func (x Index) Parent() Index {
	f := x.fields()
	if f.level <= -levelCap {
		return x
	}
	for i := range f.array {
		switch {
		case f.level <= 0:
			f.array[i] = f.array[i] >> uint(1-f.level) << uint(1-f.level)
		case f.level <= MaxDepth:
			f.tree[i] &^= 1 << uint(MaxDepth-f.level)
		}
	}
	f.level--
	return f.index()
}

// Ancestor returns the block of a level <= x.Level() that holds x.
func (x Index) Ancestor(level int) Index {
	for x.Level() > level {
		x = x.Parent()
	}
	return x
}

// ChildOf says which child of its parent the block is: 0 or 1 per axis.
func (x Index) ChildOf() [3]int {
	c := x.Coord()
	return [3]int{c[0] & 1, c[1] & 1, c[2] & 1}
}

// ChildNumber is ChildOf as one number, x + 2y + 4z.
func (x Index) ChildNumber() int {
	c := x.ChildOf()
	return c[0] | c[1]<<1 | c[2]<<2
}

// Valid checks the words: the level within [MinLevel, MaxDepth], child bits
// below the level zero, array bits of a level below 0 zero where they were
// shifted in, and axes beyond rank without coordinates. The error is a
// *FormatError of class ErrCorrupt without an offset, which the caller adds.
func (x Index) Valid(rank int) error {
	bad := func(format string, a ...any) error {
		return &FormatError{Pkg: "amr", Offset: -1, Field: "index", Msg: fmt.Sprintf("%d: ", x) + fmt.Sprintf(format, a...), Err: ErrCorrupt}
	}
	if rank < 1 || rank > 3 {
		return bad("rank %d, want 1 to 3", rank)
	}
	f := x.fields()
	if f.level < MinLevel || f.level > MaxDepth {
		return bad("level %d, want %d to %d", f.level, MinLevel, MaxDepth)
	}
	if f.level == 0 && x[2]&1 != 0 {
		return bad("level -0")
	}
	for i := range f.array {
		axis := "xyz"[i : i+1]
		if i >= rank && (f.array[i] != 0 || f.tree[i] != 0) {
			return bad("%s coordinate is set, want 0 in %d dimensions", axis, rank)
		}
		if f.level < 0 && f.array[i]&(1<<uint(-f.level)-1) != 0 {
			return bad("%s array bits %010b, want %d low zeros at level %d", axis, f.array[i], -f.level, f.level)
		}
		if unused := uint32(treeMask) >> uint(max(f.level, 0)); f.tree[i]&unused != 0 {
			return bad("%s child bits %020b, want zeros after the first %d", axis, f.tree[i], max(f.level, 0))
		}
	}
	return nil
}
