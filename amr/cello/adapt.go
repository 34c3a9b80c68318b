package cello

import (
	"blobio/internal/base/fault"
	"encoding/binary"
	"fmt"
)

// adaptBytes is the size of adapt_buffer: 1000 32-bit integers.
const adaptBytes = 4000

// Byte offsets in adapt_buffer. The fields from adaptValid on are not aligned.
const (
	adaptCurr      = 0    // an int32 (27), then 27 levels
	adaptNext      = 112  // an int32 (27), then 27 levels
	adaptLast      = 224  // an int32 (216), then 8 x 27 levels
	adaptValid     = 1092 // u8
	adaptRank      = 1093 // i32
	adaptPeriodic  = 1097 // 3 counts: root blocks on a periodic axis, 0 on another
	adaptMinLevel  = 1113
	adaptMaxLevel  = 1117
	adaptSelf      = 1121 // level info
	adaptCount     = 1149 // number of neighbours
	adaptNeighbour = 1153 // level infos
	levelInfoBytes = 28
)

// maxNeighbours is the maximum number of neighbours in the buffer. A leaf of a balanced 3-D tree has at most 56.
const maxNeighbours = (adaptBytes - adaptNeighbour) / levelInfoBytes

// levelInfo is the data that a block stores about itself or about a neighbour.
type levelInfo struct {
	Index      [3]int32
	Now        int32 // level
	Min, Max   int32 // bounds of the level after the next adaptation
	Sibling    bool  // same parent
	CanCoarsen bool
}

// adaptBuffer is the content of a block's adapt_buffer attribute, which describes the block's neighbours. The index of a level is
// its direction (fx, fy, fz), each -1, 0 or 1, as the number (fx+1)+3((fy+1)+3(fz+1)).
type adaptBuffer struct {
	Curr, Next         [27]int32
	Last               [8][27]int32 // the first index is the number of the child, cx+2(cy+2cz)
	Valid              bool         // true for leaves and for blocks below level 0
	Rank               int32
	Periodic           [3]int32 // number of root blocks on periodic axes, otherwise 0
	MinLevel, MaxLevel int32
	Self               levelInfo
	Neighbours         []levelInfo
}

// decodeAdapt decodes an adapt_buffer of 4000 little-endian bytes in its file form. Errors wrap ErrCorrupt and name the field.
func decodeAdapt(b []byte) (*adaptBuffer, error) {
	fail := func(off int, field, format string, args ...any) (*adaptBuffer, error) {
		return nil, fault.At("", int64(off), "adapt_buffer "+field, ErrCorrupt, format, args...)
	}
	if len(b) != adaptBytes {
		return fail(0, "size", "%d bytes, want %d", len(b), adaptBytes)
	}
	i32 := func(off int) int32 { return int32(binary.LittleEndian.Uint32(b[off:])) }
	a := new(adaptBuffer)
	levels := func(off int, dst []int32) {
		for i := range dst {
			dst[i] = i32(off + 4*i)
		}
	}
	for _, l := range []struct {
		off  int
		want int32
		name string
	}{{adaptCurr, 27, "face_level_curr"}, {adaptNext, 27, "face_level_next"}, {adaptLast, 216, "face_level_last"}} {
		if n := i32(l.off); n != l.want {
			return fail(l.off, l.name, "%d levels, want %d", n, l.want)
		}
	}
	levels(adaptCurr+4, a.Curr[:])
	levels(adaptNext+4, a.Next[:])
	for c := range a.Last {
		levels(adaptLast+4+108*c, a.Last[c][:])
	}
	if b[adaptValid] > 1 {
		return fail(adaptValid, "valid", "%d, want 0 or 1", b[adaptValid])
	}
	a.Valid = b[adaptValid] == 1
	if a.Rank = i32(adaptRank); a.Rank < 1 || a.Rank > 3 {
		return fail(adaptRank, "rank", "%d, want 1 to 3", a.Rank)
	}
	if n := i32(adaptPeriodic); n != 3 {
		return fail(adaptPeriodic, "periodicity", "%d axes, want 3", n)
	}
	levels(adaptPeriodic+4, a.Periodic[:])
	a.MinLevel, a.MaxLevel = i32(adaptMinLevel), i32(adaptMaxLevel)
	a.Self = decodeLevelInfo(b[adaptSelf:])
	n := i32(adaptCount)
	if n < 0 || n > maxNeighbours {
		return fail(adaptCount, "neighbours", "%d, want 0 to %d", n, maxNeighbours)
	}
	a.Neighbours = make([]levelInfo, n)
	for i := range a.Neighbours {
		a.Neighbours[i] = decodeLevelInfo(b[adaptNeighbour+levelInfoBytes*i:])
	}
	return a, nil
}

// The bytes after can_coarsen are padding. In the level info that a block stores about itself, both flags are garbage.
func decodeLevelInfo(b []byte) levelInfo {
	i32 := func(k int) int32 { return int32(binary.LittleEndian.Uint32(b[4*k:])) }
	return levelInfo{Index: [3]int32{i32(0), i32(1), i32(2)}, Now: i32(3), Min: i32(4), Max: i32(5), Sibling: b[24] == 1, CanCoarsen: b[25] == 1}
}

func (a *adaptBuffer) bytes() ([]byte, error) {
	b := make([]byte, adaptBytes)
	return b, a.encode(b)
}

// encode fills b. The caller zeroes b first.
func (a *adaptBuffer) encode(b []byte) error {
	binary.LittleEndian.PutUint32(b[adaptLast:], 216)
	for c := range a.Last {
		putInts(b[adaptLast+4+108*c:], a.Last[c][:])
	}
	putInts(b[adaptRank:], []int32{a.Rank, 3})
	putInts(b[adaptPeriodic+4:], a.Periodic[:])
	putInts(b[adaptMinLevel:], []int32{a.MinLevel, a.MaxLevel})
	return a.encodeBlock(b)
}

// encodeBlock encodes the fields whose values vary from block to block.
func (a *adaptBuffer) encodeBlock(b []byte) error {
	if len(a.Neighbours) > maxNeighbours {
		return fmt.Errorf("adapt_buffer: block has %d neighbours, want at most %d (the tree is not balanced): %w", len(a.Neighbours), maxNeighbours, ErrTooLarge)
	}
	putLevels(b, adaptCurr, a.Curr[:])
	putLevels(b, adaptNext, a.Next[:])
	if b[adaptValid] = 0; a.Valid {
		b[adaptValid] = 1
	}
	a.Self.encode(b[adaptSelf:])
	binary.LittleEndian.PutUint32(b[adaptCount:], uint32(len(a.Neighbours)))
	for i := range a.Neighbours {
		a.Neighbours[i].encode(b[adaptNeighbour+levelInfoBytes*i:])
	}
	return nil
}

func (l *levelInfo) encode(b []byte) {
	le := binary.LittleEndian
	b = b[:levelInfoBytes]
	for i, w := range l.Index {
		le.PutUint32(b[4*i:], uint32(w))
	}
	le.PutUint32(b[12:], uint32(l.Now))
	le.PutUint32(b[16:], uint32(l.Min))
	le.PutUint32(b[20:], uint32(l.Max))
	if l.Sibling {
		b[24] = 1
	}
	if l.CanCoarsen {
		b[25] = 1
	}
}

// putLevels writes the length of a vector and then its elements.
func putLevels(b []byte, off int, v []int32) {
	binary.LittleEndian.PutUint32(b[off:], uint32(len(v)))
	putInts(b[off+4:], v)
}

func putInts(b []byte, v []int32) {
	b = b[:4*len(v)]
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
	}
}
