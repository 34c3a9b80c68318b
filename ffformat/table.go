package ffformat

import "encoding/binary"

// span is the offset and length of a field in its structure. A length of 0 means that the layout does not store the field. All
// integers are little-endian.
type span struct{ off, len int }

// get returns the integer in b, sign-extended, or 0 if the field is not stored.
func (s span) get(b []byte) int64 {
	switch s.len {
	case 1:
		return int64(b[s.off])
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b[s.off:])))
	case 8:
		return int64(binary.LittleEndian.Uint64(b[s.off:]))
	}
	return 0
}

// put stores the low bytes of v. It reports whether v fits, so that get would return v. If the layout does not store the field,
// put accepts any value.
func (s span) put(b []byte, v int64) bool {
	switch s.len {
	case 0:
		return true
	case 1:
		b[s.off] = byte(v)
	case 4:
		binary.LittleEndian.PutUint32(b[s.off:], uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b[s.off:], uint64(v))
	}
	return s.get(b) == v
}

func (s span) bytes(b []byte) []byte { return b[s.off : s.off+s.len] }

// Fields common to the file blocks of all layouts.
const (
	checksumLen = 33 // 32 hex digits and a NUL
	myHashOff   = 33 // offset of a hash of 16 bytes
	maxFB       = 110
	minFB       = 82
)

// fbTable has the fields of a file block (FB). myHash covers the first checksumLen bytes and then, in this order, timestamp,
// ckptSize, metaSize, dataSize, fs, ptFs and maxFs.
type fbTable struct {
	size                                     int
	ckptID, ckptSize, metaSize, dataSize, fs span
	maxFs, ptFs, timestamp, pad              span
	atEnd/* of the file, else at its start */ bool
	unsigned/* a timestamp of 4 bytes, that is */ bool
}

// bmdTable has the fields of a block header (BMD).
type bmdTable struct {
	size            int
	numvars, dbsize span
}

// vmdTable has the fields of a chunk record (VMD).
type vmdTable struct {
	size                          int
	id, idx, containerID          span
	hasContent, hasCkpt, pad      span
	dptr, fptr, chunk, room, hash span
}

type tables struct {
	fb  fbTable
	bmd bmdTable
	vmd vmdTable
}

var (
	bmdWide = bmdTable{12, span{0, 4}, span{4, 8}}
	bmdE    = bmdTable{8, span{0, 4}, span{4, 4}}

	vmdA = vmdTable{
		size: 64, id: span{0, 4}, idx: span{4, 4}, containerID: span{8, 4}, hasContent: span{12, 1}, pad: span{13, 3},
		dptr: span{16, 8}, fptr: span{24, 8}, chunk: span{32, 8}, room: span{40, 8}, hash: span{48, 16},
	}
	vmdB = vmdTable{
		size: 62, id: span{0, 4}, idx: span{4, 4}, containerID: span{8, 4}, hasContent: span{12, 1}, hasCkpt: span{13, 1},
		dptr: span{14, 8}, fptr: span{22, 8}, chunk: span{30, 8}, room: span{38, 8}, hash: span{46, 16},
	}
	vmdD = vmdTable{
		size: 58, id: span{0, 4}, containerID: span{4, 4}, hasContent: span{8, 1}, hasCkpt: span{9, 1},
		dptr: span{10, 8}, fptr: span{18, 8}, chunk: span{26, 8}, room: span{34, 8}, hash: span{42, 16},
	}
	vmdE = vmdTable{
		size: 50, id: span{0, 4}, containerID: span{4, 4}, hasContent: span{8, 1}, hasCkpt: span{9, 1},
		dptr: span{10, 8}, fptr: span{18, 8}, chunk: span{26, 4}, room: span{30, 4}, hash: span{34, 16},
	}

	fbC = fbTable{
		size: 110, atEnd: true, ckptID: span{49, 4}, ckptSize: span{53, 8}, metaSize: span{61, 8}, dataSize: span{69, 8},
		fs: span{77, 8}, maxFs: span{85, 8}, ptFs: span{93, 8}, timestamp: span{101, 8}, pad: span{109, 1},
	}
)

// layoutTables describe the seven layouts. The numbers were found in files written by each version of FTI.
var layoutTables = [...]tables{
	LayoutA: {fbTable{
		size: 96, ckptSize: span{56, 8}, fs: span{64, 8}, maxFs: span{72, 8}, ptFs: span{80, 8}, timestamp: span{88, 8}, pad: span{49, 7},
	}, bmdWide, vmdA},
	LayoutB: {fbTable{
		size: 90, ckptSize: span{49, 8}, fs: span{57, 8}, maxFs: span{65, 8}, ptFs: span{73, 8}, timestamp: span{81, 8}, pad: span{89, 1},
	}, bmdWide, vmdB},
	LayoutC0: {fbTable{
		size: 106, atEnd: true, ckptSize: span{49, 8}, metaSize: span{57, 8}, dataSize: span{65, 8},
		fs: span{73, 8}, maxFs: span{81, 8}, ptFs: span{89, 8}, timestamp: span{97, 8}, pad: span{105, 1},
	}, bmdWide, vmdB},
	LayoutC: {fbC, bmdWide, vmdB},
	LayoutD: {fbC, bmdWide, vmdD},
	LayoutE: {fbTable{
		size: 82, atEnd: true, unsigned: true, ckptID: span{49, 4}, ckptSize: span{53, 4}, metaSize: span{57, 4}, dataSize: span{61, 4},
		fs: span{65, 4}, maxFs: span{69, 4}, ptFs: span{73, 4}, timestamp: span{77, 4}, pad: span{81, 1},
	}, bmdE, vmdE},
	LayoutF: {fbTable{
		size: 106, atEnd: true, unsigned: true, ckptID: span{49, 4}, ckptSize: span{53, 8}, metaSize: span{61, 8}, dataSize: span{69, 8},
		fs: span{77, 8}, maxFs: span{85, 8}, ptFs: span{93, 8}, timestamp: span{101, 4}, pad: span{105, 1},
	}, bmdWide, vmdD},
}

func (l Layout) table() *tables { return &layoutTables[l] }

// fbSize, bmdSize and vmdSize return the sizes in bytes of the three structures.
func (l Layout) fbSize() int64  { return int64(l.table().fb.size) }
func (l Layout) bmdSize() int64 { return int64(l.table().bmd.size) }
func (l Layout) vmdSize() int64 { return int64(l.table().vmd.size) }

// wide reports whether sizes have 64 bits. Otherwise (layout E) a file has at most 2 GiB - 1 bytes.
func (l Layout) wide() bool { return l != LayoutE }

// atEnd reports whether all metadata are after the data, and the file block is last. In layouts A and B the file block is first,
// and each block's metadata are before the block's data.
func (l Layout) atEnd() bool { return l.table().fb.atEnd }

// blockMeta returns the size in bytes of the metadata of a block of n containers.
func (l Layout) blockMeta(n int) int64 { return l.bmdSize() + int64(n)*l.vmdSize() }
