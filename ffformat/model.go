package ffformat

import (
	"fmt"
)

// digest is a hash of 16 bytes: MD5, or XXH3-128 big-endian.
type digest = [16]byte

// Hash is the kind of the digests of a file.
type Hash uint8

const (
	// MD5 is FTI's: files of this kind can be recovered by FTI.
	MD5 Hash = iota
	// Fast is XXH3-128 over blocks, ours alone: FTI refuses such a file. Layout F only.
	Fast
)

// FileBlock is the file block (FB, struct FTIFF_metaInfo). Sizes are in bytes.
// Fields that a layout does not store are 0.
type FileBlock struct {
	Checksum  string   // 32 characters: lower-case hex digits of an MD5; of a Fast file its mark
	MyHash    [16]byte // of the fields below, see docs/format-fti-ff.md#hashes
	CkptID    int32    // C, D, E, F
	CkptSize  int64    // size of the whole file
	MetaSize  int64    // all metadata with this block; from C0 on
	DataSize  int64    // all containers, and so the offset of the first block header; from C0 on
	FileSize  int64    // fs: the size of the file again
	MaxFs     int64    // level 3: the largest file of the group, else -1
	PtFs      int64    // level 2: size of the partner's file, else -1
	Timestamp int64    // ns since 1970; E and F store its low 32 bits
	Pad       [7]byte
}

// Block is one block header (BMD, struct FTIFF_db) with its containers.
type Block struct {
	Offset     int64 // of the header in the file; not stored
	Size       int64 // dbsize: bytes of the containers; in A and B with their metadata
	Containers []Container
}

// Container is one chunk record (VMD, struct FTIFF_dbvar): a place in the file
// that holds one piece (the chunk) of one variable. Its size never changes.
type Container struct {
	ID            int32 // of the variable
	Idx           int32 // place of the variable in FTI's table; A, B, C0, C
	ContainerID   int32 // 0, 1, ... within the variable
	HasContent    bool
	HasCkpt       bool     // a differential checkpoint stored this container before; from B on
	Dptr          int64    // bytes of the variable before the chunk
	Fptr          int64    // offset of the container in the file
	ChunkSize     int64    // bytes in use
	ContainerSize int64    // bytes reserved
	Hash          [16]byte // of the chunk; stale where there is no content
	Pad           [3]byte

	// The bytes of HasContent and HasCkpt as found, where they are neither 0 nor 1.
	odd [2]byte
}

// File has the metadata of one FTI-FF file.
type File struct {
	Name      string // for errors
	Layout    Layout
	Hash      Hash
	BlockSize int   // Fast files: bytes of a hashed block, else 0
	Size      int64 // bytes of the file as found
	Parity    bool  // a level 3 parity file (RSed): no blocks, the bytes before FB are parity
	FB        FileBlock
	Blocks    []Block

	// Damaged is nil, or says why the file is not whole as it stands; only files
	// decoded with Options.Lenient have it. Fields of FB that could not be read are
	// then derived from the blocks, or 0.
	Damaged error
	// RecordsLost: Blocks may not be all, since a variable whose last container
	// is full may have gone on.
	RecordsLost bool
}

// Layout is one of the seven forms that FTI-FF files have had. A file does not
// say which: it is found by its content, see Decode.
type Layout uint8

// The layouts, by the versions of FTI that write them.
const (
	LayoutA  Layout = 1 + iota // v1.1
	LayoutB                    // v1.2
	LayoutC0                   // never released
	LayoutC                    // v1.3
	LayoutD                    // v1.4
	LayoutE                    // v1.5, v1.5.1, v1.6: 32-bit sizes
	LayoutF                    // after v1.6
)

var layoutNames = [...]string{LayoutA: "A", LayoutB: "B", LayoutC0: "C0", LayoutC: "C", LayoutD: "D", LayoutE: "E", LayoutF: "F"}

func (l Layout) valid() bool { return l >= LayoutA && l <= LayoutF }

func (l Layout) String() string {
	if !l.valid() {
		return fmt.Sprintf("Layout(%d)", uint8(l))
	}
	return layoutNames[l]
}

// Options of all calls; each call uses the fields that name it. nil, or a zero field, means the default.
type Options struct {
	// Layout: NewReader, Decode and Repair try only this one; Convert, Compact and NewWriter write it (default: the layout of the old file; LayoutF).
	Layout Layout
	// Lenient: NewReader and Decode take files that are damaged or torn if enough of their records is there; File.Damaged then has the error. Sizes
	// in the records may have any value then: Reader.VarSize refuses what the file cannot hold.
	Lenient bool
	// Quick: Check reads metadata only.
	Quick bool
	// Workers read, hash or copy chunks at once: ReadVars, Check, Convert, Compact, Repair, NewWriter. Default: one for each processor.
	Workers int
	// Progress gets the bytes done and in all: Convert, Compact, Diff, Repair. Several goroutines call it.
	Progress func(done, total int64)

	// Digests belong to this file, and come from a side file: they must match it (ErrChecksum). ReadVars then verifies chunks by the digests of
	// their blocks, at the speed of memory, and not by MD5.
	Digests *Digests

	// Hash of the file that Convert, Compact or NewWriter writes: MD5, which FTI reads, or Fast, with layout F only.
	Hash Hash
	// BlockSize in bytes, 512 to 1 MiB, of the Fast file that Convert or Compact writes, or of the blocks that a Writer compares. Default 16384.
	BlockSize int
	// CkptID of the new file: Convert, Compact and Repair, where the old one has none. Default 0.
	CkptID int32

	// Bad variables of Repair are dropped (""), "zero": kept with zeros for their bad chunks, or "keep": kept with the bytes as they are (zeros
	// for those after the end of the file), as if they were good, also those with a doubtful id. FTI restarts from a file
	// with dropped variables only if the program protects the others alone.
	Bad string
	// DryRun: Repair only reports; dst may be nil.
	DryRun bool

	// Vars are the variables that Diff compares. nil: all.
	Vars []int32
	// Gap is how many equal bytes at most are inside a range of Diff, 0 to 1 MiB: two ranges with no more between them are one. Default 0.
	Gap int64
}
