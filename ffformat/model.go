package ffformat

import (
	"fmt"
)

// digest is a 16-byte hash: MD5, or big-endian XXH3-128.
type digest = [16]byte

// Hash is the kind of hash in a file.
type Hash uint8

const (
	// MD5 is FTI's hash. FTI can restart from files with MD5 hashes.
	MD5 Hash = iota
	// Fast is XXH3-128 over blocks, in files of layout F. Only blobio uses it; FTI refuses such files.
	Fast
)

// FileBlock is the file block (FB, struct FTIFF_metaInfo). Sizes are in bytes.
// Fields that a layout does not store are 0.
type FileBlock struct {
	Checksum  string   // 32 characters: lower-case hex digits of an MD5, or the mark of a Fast file
	MyHash    [16]byte // hash of the fields below (docs/format-fti-ff.md#hashes)
	CkptID    int32    // C, D, E, F
	CkptSize  int64    // size of the whole file
	MetaSize  int64    // size of all metadata including this file block; from layout C0 on
	DataSize  int64    // size of all containers, which is the offset of the first block header; from layout C0 on
	FileSize  int64    // fs: size of the whole file again
	MaxFs     int64    // level 3: size of the group's largest file; otherwise -1
	PtFs      int64    // level 2: size of the partner's file; otherwise -1
	Timestamp int64    // ns since 1970; layouts E and F store only the low 32 bits
	Pad       [7]byte
}

// Block is one block header (BMD, struct FTIFF_db) with its containers.
type Block struct {
	Offset     int64 // offset of the block header in the file; not stored
	Size       int64 // dbsize: size of the containers in bytes; in layouts A and B including their metadata
	Containers []Container
}

// Container is one chunk record (VMD, struct FTIFF_dbvar): a range of the file that holds one piece (the chunk) of one variable.
// Its size never changes.
type Container struct {
	ID            int32 // id of the variable
	Idx           int32 // index of the variable in FTI's table; layouts A, B, C0, C
	ContainerID   int32 // number of the container within the variable: 0, 1, ...
	HasContent    bool
	HasCkpt       bool     // the container was also stored by an earlier differential checkpoint; from layout B on
	Dptr          int64    // number of the variable's bytes before this chunk
	Fptr          int64    // offset of the container in the file
	ChunkSize     int64    // size of the chunk
	ContainerSize int64    // size of the container
	Hash          [16]byte // hash of the chunk; stale if the container has no content
	Pad           [3]byte

	// odd holds the bytes of HasContent and HasCkpt in the file, if they are neither 0 nor 1.
	odd [2]byte
}

// File holds the metadata of one FTI-FF file.
type File struct {
	Name      string // for error messages
	Layout    Layout
	Hash      Hash
	BlockSize int   // for Fast files: size of a hashed block in bytes; otherwise 0
	Size      int64 // actual size of the file in bytes
	Parity    bool  // a level 3 parity file (RSed): it has no blocks, and the bytes before FB are parity
	FB        FileBlock
	Blocks    []Block

	// Damaged is nil for an undamaged file, and otherwise the error that describes the damage. Only Options.Lenient allows
	// damaged files. Their unreadable fields of FB are computed from the blocks, or 0.
	Damaged error
	// RecordsLost means that Blocks may be incomplete. If the last container of a variable is full, the variable may have had
	// more containers.
	RecordsLost bool
}

// Layout is one of the seven layouts of FTI-FF files. A file does not name its layout, so Decode finds the layout by content.
type Layout uint8

// The layouts, with the versions of FTI that write them.
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

// Options are the options of all functions of this package. The comment of each field names the functions that use it. A nil
// pointer or a zero field means the default.
type Options struct {
	// Layout: NewReader, Decode and Repair try only this layout. Convert and Compact (default: the layout of the old file) and
	// NewWriter (default: LayoutF) write this layout.
	Layout Layout
	// Lenient: NewReader and Decode accept damaged or torn files if enough of their records are readable. File.Damaged then
	// describes the damage. Sizes in the records can have any value, but Reader.VarSize refuses sizes that exceed the file.
	Lenient bool
	// Quick: Check reads metadata only.
	Quick bool
	// Workers is the number of chunks that ReadVars, Check, Convert, Compact, Repair and NewWriter process in parallel. Default:
	// one for each processor.
	Workers int
	// Convert, Compact, Diff and Repair call Progress with the bytes done and the total. Several goroutines call it.
	Progress func(done, total int64)

	// Digests are the block digests of this file from a side file. If they do not match the file, the call returns ErrChecksum.
	// With Digests, ReadVars verifies chunks by their block digests, at memory speed, instead of MD5.
	Digests *Digests

	// Hash is the hash of the file that Convert, Compact or NewWriter writes: MD5, which FTI reads, or Fast, with layout F only.
	Hash Hash
	// BlockSize is the block size in bytes, 512 to 1 MiB: of a Fast file that Convert or Compact writes, or of the blocks that a
	// Writer compares. Default 16384.
	BlockSize int
	// CkptID is the checkpoint id that Convert, Compact and Repair store if the old file has none. Default 0.
	CkptID int32

	// Bad selects what Repair does with bad variables: "" drops them; "zero" keeps them with zeros for their bad chunks; "keep"
	// keeps their bytes unchanged, with zeros behind the end of the file. "keep" also keeps variables with a doubtful id, as if
	// they were good. If variables were dropped, FTI restarts from the file only if the program does not protect them.
	Bad string
	// DryRun makes Repair only report. dst may then be nil.
	DryRun bool

	// Vars are the variables that Diff compares. nil: all.
	Vars []int32
	// Gap is the maximum number of equal bytes inside a range of Diff, 0 to 1 MiB. Diff joins two ranges with at most Gap bytes
	// between them. Default 0.
	Gap int64
}
