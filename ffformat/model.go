package ffformat

import (
	"fmt"
)

// digest is a 16-byte hash: MD5, or big-endian XXH3-128.
type digest = [16]byte

// Hash is the kind of hash in a file.
type Hash uint8

const (
	// MD5 is FTI's hash. FTI can restart from files with it.
	MD5 Hash = iota
	// Fast is XXH3-128 over blocks. Only blobio uses it: FTI refuses such a file. Layout F only.
	Fast
)

// FileBlock is the file block (FB, struct FTIFF_metaInfo). Sizes are in bytes.
// Fields that a layout does not store are 0.
type FileBlock struct {
	Checksum  string   // 32 characters: lower-case hex digits of an MD5, or the mark of a Fast file
	MyHash    [16]byte // hash of the fields below, see docs/format-fti-ff.md#hashes
	CkptID    int32    // C, D, E, F
	CkptSize  int64    // size of the whole file
	MetaSize  int64    // size of all metadata with this block; from C0 on
	DataSize  int64    // size of all containers, and so the offset of the first block header; from C0 on
	FileSize  int64    // fs: the size of the whole file again
	MaxFs     int64    // level 3: size of the largest file of the group, else -1
	PtFs      int64    // level 2: size of the partner's file, else -1
	Timestamp int64    // ns since 1970; E and F store its low 32 bits
	Pad       [7]byte
}

// Block is one block header (BMD, struct FTIFF_db) with its containers.
type Block struct {
	Offset     int64 // offset of the header in the file; not stored
	Size       int64 // dbsize: size of the containers in bytes; in A and B with their metadata
	Containers []Container
}

// Container is one chunk record (VMD, struct FTIFF_dbvar): a range of the file that holds one piece (the chunk) of one variable.
// Its size never changes.
type Container struct {
	ID            int32 // of the variable
	Idx           int32 // index of the variable in FTI's table; A, B, C0, C
	ContainerID   int32 // 0, 1, ... within the variable
	HasContent    bool
	HasCkpt       bool     // an earlier differential checkpoint stored this container; from B on
	Dptr          int64    // bytes of the variable before this chunk
	Fptr          int64    // offset of the container in the file
	ChunkSize     int64    // bytes in use
	ContainerSize int64    // bytes reserved
	Hash          [16]byte // hash of the chunk; stale if there is no content
	Pad           [3]byte

	// odd holds the bytes of HasContent and HasCkpt from the file if they are neither 0 nor 1.
	odd [2]byte
}

// File holds the metadata of one FTI-FF file.
type File struct {
	Name      string // for error messages
	Layout    Layout
	Hash      Hash
	BlockSize int   // Fast files: size of a hashed block in bytes, else 0
	Size      int64 // actual size of the file in bytes
	Parity    bool  // a level 3 parity file (RSed): it has no blocks, and the bytes before FB are parity
	FB        FileBlock
	Blocks    []Block

	// Damaged is nil for a whole file, else the error that describes the damage. Only files decoded with Options.Lenient have it.
	// Unreadable fields of FB are then derived from the blocks, or 0.
	Damaged error
	// RecordsLost: Blocks may be incomplete. A variable whose last container is full may have had more containers.
	RecordsLost bool
}

// Layout is one of the seven layouts of FTI-FF files. A file does not name its layout; Decode finds it by content.
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

// Options are the options of all calls. Each field names the calls that use it. nil or a zero field means the default.
type Options struct {
	// Layout: NewReader, Decode and Repair try only this layout. Convert, Compact and NewWriter write it (default: the layout of the
	// old file; LayoutF).
	Layout Layout
	// Lenient: NewReader and Decode accept damaged or torn files if enough of their records are readable. File.Damaged then has the
	// error. Sizes in the records may then have any value; Reader.VarSize refuses sizes that exceed the file.
	Lenient bool
	// Quick: Check reads metadata only.
	Quick bool
	// Workers is the number of chunks read, hashed or copied at once by ReadVars, Check, Convert, Compact, Repair and NewWriter.
	// Default: one for each processor.
	Workers int
	// Progress receives the bytes done and the total from Convert, Compact, Diff and Repair. Several goroutines call it.
	Progress func(done, total int64)

	// Digests are the block digests of this file from a side file. They must match the file (else ErrChecksum). ReadVars then
	// verifies chunks by their block digests, at memory speed, instead of MD5.
	Digests *Digests

	// Hash of the file that Convert, Compact or NewWriter writes: MD5, which FTI reads, or Fast, with layout F only.
	Hash Hash
	// BlockSize is the block size in bytes, 512 to 1 MiB: of the Fast file that Convert or Compact writes, or of the blocks that a
	// Writer compares. Default 16384.
	BlockSize int
	// CkptID is the checkpoint id of the new file if the old file has none (Convert, Compact, Repair). Default 0.
	CkptID int32

	// Bad selects what Repair does with bad variables: "" drops them; "zero" keeps them with zeros for their bad chunks; "keep"
	// keeps their bytes unchanged, with zeros behind the end of the file. "keep" also keeps variables with a doubtful id, as if all
	// were good. FTI restarts from a file without dropped variables only if the program protects only the others.
	Bad string
	// DryRun: Repair only reports; dst may be nil.
	DryRun bool

	// Vars are the variables that Diff compares. nil: all.
	Vars []int32
	// Gap is the maximum number of equal bytes inside a range of Diff, 0 to 1 MiB. Diff joins two ranges with at most Gap bytes
	// between them. Default 0.
	Gap int64
}
