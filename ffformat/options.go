package ffformat

// Options of all calls; each call uses the fields that name it. nil, or a zero field, means the default.
type Options struct {
	// Layout: NewReader, Decode and Repair try this one only; Convert, Compact and NewWriter write it (default: that of the old file; LayoutF).
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

	// Digests are those of this file, from a side file: they must match it (ErrChecksum). ReadVars then verifies chunks by the digests of
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
