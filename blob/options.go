package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/subfile"
	"blobio/vfs"
	"time"
)

// CanonicalOptions are the options of Reader.Canonical. The zero value, or nil, means a CDF-5 file of the whole dataset.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables, in the order of the source; nil: all
	Records *Range       // nil: all
	Subset  Subset       // along dimensions; nil: the whole dimensions

	ZeroFill bool  // elements that no blob covers read as zeros instead of fill values
	Memory   int64 // limit in bytes for cached blocks and read-ahead, at least 1 MiB; default 64 MiB

	Pool *CanonicalPool // cache shared with other files; its limit replaces Memory, which then limits one read. nil: a cache of its own
}

// OpenOptions are the options of Open. The zero value, or nil, means the defaults.
type OpenOptions struct {
	AllowMissing bool  // open a dataset without some subfiles (Reader.Missing), or a canonical file that ends early: missing elements read as fill values, and variables without any existing subfile are left out. If variable-centric subfiles without a manifest differ in their number of records, the smallest number counts
	MissingLater bool  // with a manifest: missing subfiles, and subfiles with a damaged header, do not fail Open as long as one is left; reads of their elements fail. For missing ones AllowMissing has precedence
	Memory       int64 // limit of buffers for reading, in bytes, at least 1 MiB; default 256 MiB. Maps and results do not count, except maps of compressed files that would be more than 64 times as long as the file
	Workers      int   // concurrent reads, at most 65,536; default GOMAXPROCS
	MaxOpen      int   // maximum number of open files; default 256
	MaxHeader    int64 // maximum length of a header, in bytes; default 256 MiB. In memory a header can take up to 20 times its length
	Maps         int64 // limit of maps in memory, in bytes, at least 1 MiB: the least recently used are dropped and read again on demand; 0: all are kept

	ZeroFill bool // elements that no blob covers read as zeros instead of fill values

	Verify Verification // selects the checksums that reads compare; default VerifyOnce
	FS     vfs.FS       // file system of the files; nil: the operating system's
}

// Options are the options of Create and Append. The zero value, or nil, means the defaults.
type Options struct {
	Layout   Layout   // VariableCentric (default) or ProcessCentric
	Grouping Grouping // assignment of ranks to subfiles; default ByNode
	Subfiles int      // number of subfiles; 0: one per node. With ByNode, a number means Blocks

	// Records fixes the number of records of a process-centric dataset, 0 if it is unknown. If it is known, Flush writes puts in
	// bounded memory; otherwise they are kept until Close. The variable-centric layout ignores it.
	Records int64

	Retain     Retain     // default CopyOnPut
	Durability Durability // default DurableCommit
	Renames    int        // up to this number of subfiles, they are written under partial names and renamed by the commit; 0: 64. With more, or -1, subfiles get their final names at once, and the manifest alone commits. Replacing a dataset always renames
	// FillIncomplete makes Commit commit all records up to the highest one that was put, with fill values for missing data. Without
	// it, Commit commits the records before the first incomplete one. The others stay with the writer until they are complete, or
	// until Close, which fills them; Commit then returns a HeldBackError. A variable that no rank has put in any record, in this
	// session or before, does not make a record incomplete.
	FillIncomplete bool

	Force    bool     // replace a dataset of the same name; it stays readable until the new one is whole
	Repeats  bool     // a rank may own an element more than once, and the later value counts; default: ErrUsage
	WideMaps bool     // int64 offsets for maps of more than 2^31-1 elements; only blobio reads such files
	Compress Compress // process-centric only, default off; only blobio reads such files. Stripe and Aggregators then have no effect: each rank writes its compressed data

	Memory  int64 // limit of copies kept by one process, in bytes; default 2 GiB. Beyond it Put fails with ErrTooLarge, and so does Flush if it must copy
	Buffer  int   // bytes that a worker gathers for one write, 64 KiB to 1 GiB; default at most 4 MiB: less in a small flush, 256 KiB in processes that share a node
	Workers int   // concurrent writers of one process, at most 65,536; default GOMAXPROCS
	MaxOpen int   // maximum number of open files of one process; default 256

	// Aggregators is the number of processes of each node that write small pieces, for ranks that share no heap (MPI). 0: one per 4
	// processes, at least 1 and at most 4. (Most kernels let only one process at a time write to a file; a parallel file system may
	// need more aggregators.)
	Aggregators int
	Stripe      Stripe // of the file system; default none

	// Heartbeat is the period of the writer's sign of life, 30 ms to 10 minutes. Readers on other machines notice its death within
	// twice this time, see Watch. The writer writes a small file three times per period. 0 (default): 15 s on file systems that
	// machines share; none on local file systems, where the lock of the file shows that the writer is alive.
	Heartbeat time.Duration

	// OwnMin, for ranks that share no heap, is the minimum mean size in bytes of the ranks' pieces of a variable (process-centric:
	// of all puts of a rank) for each rank to write its own pieces. Smaller ones go to the aggregators. 0: 128 KiB, without shared
	// memory 64 KiB.
	OwnMin int64
}

// Compress selects the compression of data. Only blobio reads compressed files. Compression is lossless. The zero value is "off".
// Set and flag.Var take a word: "off", "auto", "zstd" or "shuffle+zstd". All but "off" can have a level from 1 (fastest) to 4
// (smallest), as in "zstd:2". "auto" compresses samples and chooses for each variable, and each list of the maps. "shuffle+zstd"
// first groups the bytes of numbers by significance: all first bytes, all second bytes, and so on. It is usually better for
// fields of floating-point numbers, and worse if many values are equal.
type Compress = dataset.Compress

// Layout is the order of elements in the files of a dataset. Set and flag.Var take its name, or "variable", "process", "pnetcdf"
// or "hdf5".
type Layout = dataset.Layout

// Retain determines how long the data of a Put must stay unchanged. Lending saves a copy and its memory. If a program changes
// lent data, the file may have the old values, the new ones, or a mixture, and the checksums match all the same.
type Retain = dataset.Retain

// Durability selects the syncs of a commit.
type Durability = dataset.Durability

// Grouping assigns ranks to subfiles.
type Grouping = subfile.Grouping

// Stripe describes the units that a file system locks. It helps if ranks of several nodes write one subfile. With a Size, no two
// nodes write into the same unit, except the header, which the first rank of the subfile writes.
type Stripe = dataset.Stripe

// Verification selects the checksums that reads compare. A difference is an ErrChecksum of the read that found it; everything
// else stays readable. Datasets without a manifest have no checksums. Chunks of compressed files, headers, and the numbers that
// locate blobs are always compared; with VerifyNever the maps are not.
type Verification = read.Verification

const (
	// VariableCentric is PnetCDF's blob layout: CDF-5 subfiles in which every variable, or every record of a variable, has one blob
	// per rank.
	VariableCentric = dataset.VariableCentric
	// ProcessCentric is the HDF5 blob layout: the datasets header_blob and data_blob, with one blob per rank that contains all its
	// variables.
	ProcessCentric = dataset.ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical = dataset.Canonical
)

const (
	// CopyOnPut: the slice may be used again when Put returns. Copies are kept until Flush; in the process-centric layout without
	// Options.Records until Close. Options.Memory limits them.
	CopyOnPut = dataset.CopyOnPut
	// LendUntilFlush: the slice is lent until Flush (or Close) returns; with FlushAsync until Wait or the next flush of either kind
	// returns. Flush copies data that cannot be written yet (process-centric without Options.Records).
	LendUntilFlush = dataset.LendUntilFlush
	// LendUntilClose: the slice is lent until Close returns. This saves the copy of the process-centric layout.
	LendUntilClose = dataset.LendUntilClose
)

const (
	// DurableCommit syncs data, directory and manifest in an order that lets the commit survive a power loss.
	DurableCommit = dataset.DurableCommit
	// DurableData syncs the subfiles, but not the names.
	DurableData = dataset.DurableData
	// DurableNone syncs nothing: the commit survives a crash of the program, but not of the machine.
	DurableNone = dataset.DurableNone
)

const (
	// ByNode gives every node (ranks that share memory) one subfile. Subfiles are numbered by the lowest rank of their node.
	ByNode = subfile.ByNode
	// Blocks gives consecutive ranks one subfile: of P ranks and N subfiles, rank r writes subfile r*N/P.
	Blocks = subfile.Blocks
	// RoundRobin gives rank r subfile r mod N.
	RoundRobin = subfile.RoundRobin
)

const (
	// VerifyOnce, the default, compares every piece that a read touches, once while the dataset is open; it reads the rest of the
	// piece for this. A piece is an extent (the part of a variable, in one record, in a subfile) or, if the manifest has finer
	// checksums, 1 MiB of it. Convert and Diff always verify like this, unless VerifyNever is chosen.
	VerifyOnce = read.VerifyOnce
	// VerifyWhole compares only pieces that one read covers completely. A smaller read neither reads the rest of the piece nor
	// detects damage. If each rank reads a part of an extent, nothing may be compared.
	VerifyWhole = read.VerifyWhole
	// VerifyAlways is VerifyOnce at each read.
	VerifyAlways = read.VerifyAlways
	// VerifyNever compares nothing, for rescuing damaged data. Convert marks its output, see Manifest.Unverified.
	VerifyNever = read.VerifyNever
)

// Validate checks the options.
func (o *CanonicalOptions) Validate() error { return (*read.CanonicalOptions)(o).Validate() }

// Validate checks the options.
func (o *OpenOptions) Validate() error { return (*read.OpenOptions)(o).Validate() }

// Validate checks the options.
func (o *Options) Validate() error { return (*dataset.Options)(o).Validate() }
