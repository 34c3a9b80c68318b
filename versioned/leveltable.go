package versioned

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// The array of a level is a byte array with little-endian numbers. The size of each part is a multiple of 8 bytes:
//
//	off len
//	  0   8 "BLOBLVL1"
//	  8   4 level
//	 12   4 dim        1 to 3
//	 16   4 comps      components of a cell
//	 20   4 boxes      n
//	 24   8 time       float64
//	 32   8 dt         float64
//	 40   8 step
//	 48   8 epoch      number of the regrid that made the table
//	 56   8 used       bytes of the array
//	 64   8 dx         float64
//	 72   4 ratio      to the next finer level
//	 76   4 crc32c     of boxes and offsets
//	 80   4 crc32c     of bytes 0 to 80
//	 84  12 zeros
//	 96 32n boxes      lo[3], hi[3] int32 (hi belongs to the box), owner, zero
//	    8(n+1) offsets float64s before box i; the last one is their number
//	       data        of box i: component by component, x fastest
//
// The boxes and the offsets change only at a regrid. Every version contains its own table, so
// old versions stay readable.
const (
	levelMagic  = "BLOBLVL1"
	levelHeader = 96
	boxLen      = 32
	maxBoxes    = 1 << 26
)

// BoxInfo is a box of a level with the cells Lo to Hi, both included. Unused dimensions are 0.
type BoxInfo struct {
	Lo, Hi [3]int32
	Owner  int32 // rank
}

// Cells returns the number of cells of a box, at most 2^63-1. It is 0 if the box is empty.
func (b *BoxInfo) Cells() int64 {
	n := int64(1)
	for d := range b.Lo {
		k := max(int64(b.Hi[d])-int64(b.Lo[d])+1, 0)
		if k > 0 && n > math.MaxInt64/k {
			n = math.MaxInt64
			continue // a later dimension may be empty
		}
		n *= k
	}
	return n
}

// LevelInfo describes a level in one version. It is stored in the level's array.
type LevelInfo struct {
	Level, Dim, Comps int     // level number, 0 is the coarsest; dimensions; components of a cell
	Time, Dt, Dx      float64 // in the units of the program; Dx is the cell size
	Step, Epoch       int64   // step of the level that begins here; number of the regrid that made the table
	Ratio             int     // refinement ratio to the next finer level
	Boxes             []BoxInfo
	Offsets           []int64 // for each box, the number of float64s before it; the last entry is the total
}

// tableBytes returns the size of header, boxes and offsets, which is the offset of the data.
func tableBytes(boxes int) int64 { return levelHeader + boxLen*int64(boxes) + 8*int64(boxes+1) }

// DataOffset returns the byte offset in the array at which the data of the boxes begin. Box i begins at
// DataOffset()+8*Offsets[i].
func (l *LevelInfo) DataOffset() int64 { return tableBytes(len(l.Boxes)) }

func (l *LevelInfo) used() int64 {
	return tableBytes(len(l.Boxes)) + 8*l.Offsets[len(l.Boxes)]
}

// dataRange returns the byte range of a box's data.
func (l *LevelInfo) dataRange(box int) (lo, hi int64) {
	at := tableBytes(len(l.Boxes))
	return at + 8*l.Offsets[box], at + 8*l.Offsets[box+1]
}

// boxRange returns the same range as dataRange, but first checks that the box exists and has numbers values.
func (l *LevelInfo) boxRange(box, numbers int) (lo, hi int64, err error) {
	if box < 0 || box >= len(l.Boxes) {
		return 0, 0, fmt.Errorf("box %d of level %d, want a number from 0 to below %d: %w", box, l.Level, len(l.Boxes), fault.ErrRange)
	}
	if lo, hi = l.dataRange(box); int64(numbers)*8 != hi-lo {
		return 0, 0, fault.Usage("box %d of level %d: %d numbers, want %d", box, l.Level, numbers, (hi-lo)/8)
	}
	return lo, hi, nil
}

// read reads a box. It calls get to read bytes of the array.
func (l *LevelInfo) read(box int, dst []float64, get func(lo, hi int64, b []byte) error) error {
	lo, hi, err := l.boxRange(box, len(dst))
	if err == nil {
		err = get(lo, hi, bytesOf(dst))
	}
	if err == nil && elem.HostBig {
		elem.Swap(bytesOf(dst), bytesOf(dst), 8)
	}
	return err
}

// overfull returns the first box with which the boxes have more than most numbers in total, or -1.
func (l *LevelInfo) overfull(most int64) int {
	for i := range l.Boxes {
		n := l.Boxes[i].Cells()
		if n > most/int64(l.Comps) {
			return i
		}
		most -= n * int64(l.Comps)
	}
	return -1
}

// layout sets the offsets.
func (l *LevelInfo) layout() {
	l.Offsets = make([]int64, len(l.Boxes)+1)
	for i := range l.Boxes {
		l.Offsets[i+1] = l.Offsets[i] + l.Boxes[i].Cells()*int64(l.Comps)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// table returns the encoded boxes and offsets.
func (l *LevelInfo) table() []byte {
	b := make([]byte, 0, tableBytes(len(l.Boxes))-levelHeader)
	u := func(v int32) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
	for i := range l.Boxes {
		x := &l.Boxes[i]
		for _, v := range [...]int32{x.Lo[0], x.Lo[1], x.Lo[2], x.Hi[0], x.Hi[1], x.Hi[2], x.Owner, 0} {
			u(v)
		}
	}
	for _, o := range l.Offsets {
		b = binary.LittleEndian.AppendUint64(b, uint64(o))
	}
	return b
}

// header returns the encoded header with the checksum of the table.
func (l *LevelInfo) header(sum uint32) []byte {
	b := make([]byte, levelHeader)
	copy(b, levelMagic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], uint32(l.Level))
	le.PutUint32(b[12:], uint32(l.Dim))
	le.PutUint32(b[16:], uint32(l.Comps))
	le.PutUint32(b[20:], uint32(len(l.Boxes)))
	le.PutUint64(b[24:], math.Float64bits(l.Time))
	le.PutUint64(b[32:], math.Float64bits(l.Dt))
	le.PutUint64(b[40:], uint64(l.Step))
	le.PutUint64(b[48:], uint64(l.Epoch))
	le.PutUint64(b[56:], uint64(l.used()))
	le.PutUint64(b[64:], math.Float64bits(l.Dx))
	le.PutUint32(b[72:], uint32(l.Ratio))
	le.PutUint32(b[76:], sum)
	le.PutUint32(b[80:], crc32.Checksum(b[:80], castagnoli))
	return b
}

// decodeLevelHeader decodes the first levelHeader bytes and returns the number of boxes, which determines the length of the
// table.
func decodeLevelHeader(b []byte, name string, have int64) (l *LevelInfo, boxes int, sum uint32, err error) {
	le := binary.LittleEndian
	bad := func(off int64, field string, class error, format string, args ...any) (*LevelInfo, int, uint32, error) {
		return nil, 0, 0, fault.At(name, off, field, class, format, args...)
	}
	if len(b) < levelHeader {
		return bad(int64(len(b)), "header", fault.ErrTruncated, "%d bytes, want %d", len(b), levelHeader)
	}
	if string(b[:8]) != levelMagic {
		return bad(0, "magic", ErrNotFormat, "%q, want %q", b[:8], levelMagic)
	}
	if got, want := le.Uint32(b[80:]), crc32.Checksum(b[:80], castagnoli); got != want {
		return bad(80, "crc32c", ErrChecksum, "%08x, want %08x", got, want)
	}
	l = &LevelInfo{Level: int(le.Uint32(b[8:])), Dim: int(le.Uint32(b[12:])), Comps: int(le.Uint32(b[16:])),
		Time: math.Float64frombits(le.Uint64(b[24:])), Dt: math.Float64frombits(le.Uint64(b[32:])), Dx: math.Float64frombits(le.Uint64(b[64:])),
		Step: int64(le.Uint64(b[40:])), Epoch: int64(le.Uint64(b[48:])), Ratio: int(le.Uint32(b[72:]))}
	n := int64(le.Uint32(b[20:]))
	if l.Dim < 1 || l.Dim > 3 || l.Comps < 1 || n > maxBoxes || tableBytes(int(n)) > have {
		return bad(12, "dim", ErrCorrupt, "%d dimensions, %d components and %d boxes in %d bytes, want 1 to 3 dimensions, at least 1 component, and boxes that fit", l.Dim, l.Comps, n, have)
	}
	return l, int(n), le.Uint32(b[76:]), nil
}

func (l *LevelInfo) decodeTable(b []byte, name string, boxes int, sum uint32, have int64) error {
	if got := crc32.Checksum(b, castagnoli); got != sum {
		return fault.At(name, levelHeader, "boxes", ErrChecksum, "CRC-32C is %08x, want %08x", got, sum)
	}
	le := binary.LittleEndian
	i32 := func(at int) int32 { return int32(le.Uint32(b[at:])) }
	l.Boxes = make([]BoxInfo, boxes)
	for i := range l.Boxes {
		at := i * boxLen
		x := &l.Boxes[i]
		for d := range 3 {
			x.Lo[d], x.Hi[d] = i32(at+4*d), i32(at+12+4*d)
		}
		x.Owner = i32(at + 24)
		if x.Cells() == 0 { // Regrid refuses empty boxes
			return fault.At(name, int64(levelHeader+at), "boxes", ErrCorrupt, "box %d: %+v has no cells", i, *x)
		}
	}
	if i := l.overfull(have / 8); i >= 0 {
		return fault.At(name, int64(levelHeader+i*boxLen), "boxes", ErrCorrupt, "box %d: %+v, %d components: more numbers than in %d bytes", i, l.Boxes[i], l.Comps, have)
	}
	l.layout()
	for i, o := range l.Offsets {
		at := boxes*boxLen + 8*i
		if got := int64(le.Uint64(b[at:])); got != o {
			return fault.At(name, int64(levelHeader+at), "offsets", ErrCorrupt, "box %d at %d, want %d", i, got, o)
		}
	}
	if l.used() > have {
		return fault.At(name, 56, "used", ErrCorrupt, "%d bytes, the array has %d", l.used(), have)
	}
	return nil
}

// bytesOf returns the length of a version of a byte array. It returns ErrNotFormat for other arrays, which cannot be arrays of
// levels or snapshots.
func (v *View) bytesOf(version int64) (int64, error) {
	x, err := v.rec.find(version)
	if err != nil {
		return 0, err
	}
	if v.spec.Type != elem.Uint8 || len(x.Shape) != 1 {
		return 0, fault.At(v.spec.Name, -1, "array", ErrNotFormat, "%v of %d dimensions, want a row of bytes in a hierarchy", v.spec.Type, len(x.Shape))
	}
	return x.Shape[0], nil
}

// Table reads the table of a level array (Name.level0, ... of a Hierarchy) in a version, without its data. It returns
// ErrNotFormat if the array does not belong to a level, or if the version is older than the first save.
func (v *View) Table(ctx context.Context, version int64) (*LevelInfo, error) {
	n, err := v.bytesOf(version)
	if err != nil {
		return nil, err
	}
	return readTable(v.spec.Name, n, func(lo, hi int64, dst []byte) error {
		return v.Get(ctx, version, []int64{lo}, []int64{hi}, dst)
	})
}

// Snapshot reads a version of the global array of a hierarchy (Name.global). It returns ErrNotFormat for another array, or for a
// version older than the first snapshot.
func (v *View) Snapshot(ctx context.Context, version int64) (*Snapshot, error) {
	n, err := v.bytesOf(version)
	if err != nil {
		return nil, err
	}
	if n == 0 || n > durable.MaxSeal {
		return nil, fault.At(v.spec.Name, -1, "global", ErrNotFormat, "%d bytes", n)
	}
	b := make([]byte, n)
	if err := v.Get(ctx, version, []int64{0}, []int64{n}, b); err != nil {
		return nil, err
	}
	return decodeGlobal(b, v.spec.Name)
}
