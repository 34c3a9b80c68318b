package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/subfile"
	"blobio/vfs"
	"time"
)

// CanonicalOptions are the options of Reader.Canonical. With the zero value, or nil, the result is a CDF-5 file of the whole
// dataset.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables of the file, in the order of the source; nil: all
	Records *Range       // nil: all
	Subset  Subset       // indices of dimensions; nil: all

	ZeroFill bool  // elements that no blob covers read as zeros instead of fill values
	Memory   int64 // limit in bytes for cached blocks and read-ahead, at least 1 MiB; default 64 MiB

	// Pool limits the memory for cached blocks of all files that share the pool. Memory then determines only the length of a block
	// and the read-ahead. nil: Memory limits the blocks of this file.
	Pool *CanonicalPool
}

// OpenOptions are the options of Open. With the zero value, or nil, all options have their defaults.
type OpenOptions struct {
	// AllowMissing opens a dataset without some of its subfiles (Reader.Missing), or a canonical file that ends early. Missing
	// elements read as fill values, and variables without any existing subfile are left out. If variable-centric subfiles without
	// a manifest have different numbers of records, the smallest number counts.
	AllowMissing bool
	// MissingLater opens a dataset with a manifest although subfiles are missing or have a damaged header, as long as one subfile
	// is intact. Only reads of elements in these subfiles fail. For missing subfiles AllowMissing takes precedence.
	MissingLater bool
	// Memory limits the buffers for reading, in bytes, at least 1 MiB; default 256 MiB. Maps and results do not count, except maps
	// of compressed files that would need more than 64 times the length of the file.
	Memory  int64
	Workers int // concurrent reads, at most 65,536; default GOMAXPROCS
	MaxOpen int // maximum number of open files; default 256
	// MaxHeader is the maximum length of a header, in bytes; default 256 MiB. A decoded header can need 20 times its length in
	// memory.
	MaxHeader int64
	// Maps limits the memory for maps, in bytes, at least 1 MiB. The reader drops the least recently used maps and reads them
	// again on demand. 0: the reader keeps all maps.
	Maps int64

	ZeroFill bool // elements that no blob covers read as zeros instead of fill values

	Verify Verification // selects the checksums that reads compare; default VerifyOnce
	FS     vfs.FS       // file system of the files; nil: the operating system's
}

// Options are the options of Create and Append. With the zero value, or nil, all options have their defaults.
type Options struct {
	Layout   Layout   // VariableCentric (default) or ProcessCentric
	Grouping Grouping // assignment of ranks to subfiles; default ByNode
	// Subfiles is the number of subfiles; 0: one per node. If it is not 0, ByNode means Blocks.
	Subfiles int

	// Records is the number of records of a process-centric dataset; 0: unknown. If it is known, Flush writes all put data, and
	// the memory for copies is bounded. Otherwise the writer keeps the data until Close. The variable-centric layout ignores
	// Records.
	Records int64

	Retain     Retain     // default CopyOnPut
	Durability Durability // default DurableCommit
	// Renames is the maximum number of subfiles for which the commit uses renames; 0: 64. The subfiles then have partial names,
	// and the commit renames them. With more subfiles, or if Renames is -1, subfiles get their final names at once, and the
	// manifest alone makes the commit. A writer that replaces a dataset always uses renames.
	Renames int
	// FillIncomplete makes Commit commit all put records, and fill missing data with fill values. Without it, Commit commits the
	// records before the first incomplete record. The writer keeps the other records until they are complete, or until Close,
	// which fills them. In this case Commit returns a HeldBackError. A variable that no rank has put in any record, in this
	// session or before, does not make a record incomplete.
	FillIncomplete bool

	Force    bool // replace a dataset of the same name; the old dataset stays readable until the new one is complete
	Repeats  bool // allow a rank to own an element twice, and use the later value; otherwise ErrUsage
	WideMaps bool // use int64 offsets, for maps of more than 2^31-1 elements; only blobio reads such files
	// Compress selects the compression of process-centric data; default off. Only blobio reads such files. With compression each
	// rank writes its own data, so Stripe and Aggregators have no effect.
	Compress Compress

	// Memory limits the copies that one process keeps, in bytes; default 2 GiB. A Put that would exceed the limit fails with
	// ErrTooLarge, and so does a Flush that must copy more.
	Memory int64
	// Buffer is the number of bytes that a worker gathers for one write, from 64 KiB to 1 GiB. By default it is at most 4 MiB:
	// less in a small flush, and 256 KiB in processes that share a node.
	Buffer  int
	Workers int // concurrent writers of one process, at most 65,536; default GOMAXPROCS
	MaxOpen int // maximum number of open files of one process; default 256

	// Aggregators is the number of processes per node that write small pieces for the others, if ranks share no heap (MPI). 0: one
	// per 4 processes, at least 1 and at most 4. Most kernels let only one process at a time write to a file, so a few suffice; a
	// parallel file system may need more.
	Aggregators int
	Stripe      Stripe // lock units of the file system; default none

	// Heartbeat is the period of the writer's heartbeat, 30 ms to 10 minutes. Readers on other machines notice the writer's death
	// within twice this time, see Watch. The writer writes a small file three times per period. 0 (default) means 15 s on file
	// systems that several machines share. It means no heartbeat on local file systems, where the file's lock shows that the
	// writer is alive.
	Heartbeat time.Duration

	// OwnMin decides which ranks write their own pieces, if ranks share no heap. If the mean size of the ranks' pieces of a
	// variable is at least OwnMin bytes, each rank writes its own pieces. (In the process-centric layout this is the mean size of
	// all puts of a rank.) Smaller pieces go to the aggregators. 0: 128 KiB, or 64 KiB without shared memory.
	OwnMin int64
}

// Compress selects the compression of data. Compression is lossless. Only blobio reads compressed files. The zero value is
// "off". Set and flag.Var take a word: "off", "auto", "zstd" or "shuffle+zstd". Each word but "off" can have a level from 1
// (fastest) to 4 (smallest), as in "zstd:2". "auto" compresses samples, and chooses the compression of each variable and of
// each list of the maps. "shuffle+zstd" groups the bytes of numbers by significance before it compresses them: all first bytes,
// all second bytes, and so on. It is usually better for fields of floating-point numbers, and worse if many values are equal.
type Compress = dataset.Compress

// Layout is the order of elements in the files of a dataset. Set and flag.Var take the name of a layout, or "variable",
// "process", "pnetcdf" or "hdf5".
type Layout = dataset.Layout

// Retain determines how long a program must not change the data of a Put. Lending data saves the memory and the time for a
// copy. If a program changes lent data, the file has the old values, the new ones, or a mixture, and its checksums match these
// values.
type Retain = dataset.Retain

// Durability selects the syncs that a commit makes.
type Durability = dataset.Durability

// Grouping assigns ranks to subfiles.
type Grouping = subfile.Grouping

// Stripe describes the units that a file system locks. It is useful if ranks of several nodes write to one subfile. With a
// Size, no two nodes write to the same unit, except to the header's units: only the subfile's first rank writes the header.
type Stripe = dataset.Stripe

// Verification selects the checksums that reads compare. If a checksum differs, the read returns ErrChecksum, and all other
// data stay readable. Datasets without a manifest have no checksums. Chunks of compressed files, headers, and the numbers that
// locate blobs are always verified. Maps are verified unless VerifyNever is chosen.
type Verification = read.Verification

const (
	// VariableCentric is PnetCDF's blob layout. In its CDF-5 subfiles every variable, or every record of a variable, has one blob
	// per rank.
	VariableCentric = dataset.VariableCentric
	// ProcessCentric is the HDF5 blob layout. A subfile has the HDF5 datasets header_blob and data_blob, with one blob per rank
	// that contains all variables of the rank.
	ProcessCentric = dataset.ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical = dataset.Canonical
)

const (
	// CopyOnPut lets the caller reuse the slice when Put returns. The writer keeps copies until Flush, or until Close in the
	// process-centric layout without Options.Records. Options.Memory limits the copies.
	CopyOnPut = dataset.CopyOnPut
	// LendUntilFlush lends the slice until Flush or Close returns. With FlushAsync, the slice is lent until the next Wait, Flush,
	// FlushAsync or Close returns. In the process-centric layout without Options.Records, Flush copies the data, because they
	// cannot be written yet.
	LendUntilFlush = dataset.LendUntilFlush
	// LendUntilClose lends the slice until Close returns. In the process-centric layout this saves the copies.
	LendUntilClose = dataset.LendUntilClose
)

const (
	// DurableCommit syncs data, directory and manifest, in an order in which the commit survives a power loss.
	DurableCommit = dataset.DurableCommit
	// DurableData syncs the subfiles, but not the directory with their names.
	DurableData = dataset.DurableData
	// DurableNone syncs nothing. The commit survives a crash of the program, but not of the machine.
	DurableNone = dataset.DurableNone
)

const (
	// ByNode gives each node, whose ranks share memory, one subfile. Subfiles have the order of the lowest ranks of their nodes.
	ByNode = subfile.ByNode
	// Blocks assigns consecutive ranks to a subfile: with P ranks and N subfiles, rank r writes to subfile r*N/P.
	Blocks = subfile.Blocks
	// RoundRobin assigns rank r to subfile r mod N.
	RoundRobin = subfile.RoundRobin
)

const (
	// VerifyOnce, the default, verifies every piece that a read needs, once while the dataset is open. To do so the reader reads
	// the whole piece. A piece is an extent: a variable, or one record of it, in one subfile. If the manifest has finer checksums,
	// a piece is 1 MiB of an extent. Convert and Diff verify all data in this way, unless VerifyNever is chosen.
	VerifyOnce = read.VerifyOnce
	// VerifyWhole verifies only pieces that one read covers completely. A smaller read neither reads the rest of the piece nor
	// detects damage. If each rank reads a part of an extent, nothing may be verified.
	VerifyWhole = read.VerifyWhole
	// VerifyAlways verifies the pieces at each read, not only once.
	VerifyAlways = read.VerifyAlways
	// VerifyNever verifies nothing, in order to rescue damaged data. Convert marks its output as unverified, see
	// Manifest.Unverified.
	VerifyNever = read.VerifyNever
)

// Validate checks the options.
func (o *CanonicalOptions) Validate() error { return (*read.CanonicalOptions)(o).Validate() }

// Validate checks the options.
func (o *OpenOptions) Validate() error { return (*read.OpenOptions)(o).Validate() }

// Validate checks the options.
func (o *Options) Validate() error { return (*dataset.Options)(o).Validate() }
