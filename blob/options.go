package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/subfile"
	"blobio/vfs"
	"time"
)

// CanonicalOptions of Reader.Canonical. The zero value, or nil, is a CDF-5 file of everything.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables, in the order of the source; nil: all
	Records *Range       // nil: all
	Subset  Subset       // along dimensions; nil: everything

	ZeroFill bool  // elements that no blob covers are zeros instead of fill values
	Memory   int64 // cap of what is kept and read ahead, in bytes, at least 1 MiB; default 64 MiB

	Pool *CanonicalPool // shared with other files, whose cap holds then instead; Memory bounds what is read at once. nil: none
}

// OpenOptions of Open. The zero value, or nil, means the defaults.
type OpenOptions struct {
	AllowMissing bool  // open a dataset that lacks subfiles (Reader.Missing), or a canonical file that ends early: what is not there reads as fill values, and variables that only missing subfiles have are left out. Of variable-centric subfiles without a manifest that differ in their number of records, those that all have are read
	MissingLater bool  // of a dataset with a manifest, subfiles that are missing or whose header is damaged are an error of what reads their elements, and not of Open, as long as one is left; of missing ones AllowMissing wins
	Memory       int64 // cap of buffers for reading, in bytes, at least 1 MiB; default 256 MiB. Maps and results are not counted, but for maps of compressed files that would be more than 64 times as long as the file
	Workers      int   // concurrent reads, up to 65,536; default GOMAXPROCS
	MaxOpen      int   // open files; default 256
	MaxHeader    int64 // longest header that is read, in bytes; default 256 MiB. In memory one takes a multiple, up to 20 times as much where it is made to
	Maps         int64 // cap of maps in memory, in bytes, at least 1 MiB: the least recently used are dropped, and read again when they are needed; 0: all are kept

	ZeroFill bool // elements that no blob covers read as zeros instead of fill values

	Verify Verification // which checksums reading compares; default VerifyOnce
	FS     vfs.FS       // that the files are in; nil: the operating system's
}

// Options of Create and Append. The zero value, or nil, means the defaults.
type Options struct {
	Layout   Layout   // VariableCentric (default) or ProcessCentric
	Grouping Grouping // of ranks to subfiles; default ByNode
	Subfiles int      // number of subfiles; 0: one per node. With ByNode and a number it means Blocks

	// Records fixes the number of records of a process-centric dataset, 0 if it
	// is not known. If it is, puts are written at Flush in bounded memory;
	// if not, they are kept until Close. Ignored by the variable-centric layout.
	Records int64

	Retain     Retain     // default CopyOnPut
	Durability Durability // default DurableCommit
	Renames    int        // most subfiles that are written under partial names and renamed by the commit; 0: 64. More, or any if it is -1, get their names at once, and the manifest alone commits; replacing a dataset always renames
	// FillIncomplete makes Commit commit all records up to the highest that was put, with fill values for what was not. Otherwise it commits the records
	// before the first that lacks something; that one and those after it stay with the writer until they are whole, or until Close, which fills what is
	// missing. Commit says so with a HeldBackError. A variable that nobody has put in any record, of this session or before, is not missed.
	FillIncomplete bool

	Force    bool     // replace a dataset of the same name; it stays readable until the new one is whole
	Repeats  bool     // a rank may hold an element more than once, and the later value counts; default: that is ErrUsage
	WideMaps bool     // int64 offsets for maps of more than 2^31-1 elements; only blobio reads such files
	Compress Compress // process-centric only, default off; only blobio reads such files. Stripe and Aggregators then have no effect: each rank writes what it has compressed

	Memory  int64 // cap of data kept in copies by one process, in bytes; default 2 GiB. Over it Put fails with ErrTooLarge, Flush too if it has to copy
	Buffer  int   // bytes that a worker gathers and writes at a time, 64 KiB to 1 GiB; default up to 4 MiB: less in a small flush, 256 KiB in processes that share a node
	Workers int   // concurrent writers of one process, up to 65,536; default GOMAXPROCS
	MaxOpen int   // open files of one process; default 256

	// Aggregators is how many processes of each node write small pieces, for ranks that share no heap (MPI).
	// 0: one for each 4 processes, at least 1 and at most 4. (Writes to one file exclude each other in most
	// kernels; a parallel file system may want more.)
	Aggregators int
	Stripe      Stripe // of the file system; default none

	// Heartbeat is the period within which the writer gives a sign of life, 30 ms to 10 minutes, so that readers on other machines learn of its death
	// within twice that time: see Watch. It writes to a small file three times in each. 0 (default): 15 s on file systems that machines share, none on file systems
	// of one machine, where the lock of the file shows it.
	Heartbeat time.Duration

	// OwnMin, for ranks that share no heap, is the mean size in bytes of the ranks' pieces of a variable (process-centric: of
	// all that a rank puts) from which on each rank writes its own; smaller ones go to the aggregators. 0: 128 KiB, without
	// shared memory 64 KiB.
	OwnMin int64
}

// Compress is whether and how data are compressed. Only blobio reads compressed files.
// Compression is lossless: what is read is, bit by bit, what was put. The zero value is "off". Set and flag.Var take a word: "off", "auto", "zstd" or
// "shuffle+zstd", each but the first also with a level from 1, the fastest, to 4, the smallest, as in "zstd:2". "auto" chooses for each variable, and each
// list of the maps, by compressing samples of it. "shuffle+zstd" brings the bytes of numbers into planes first: all first bytes, all second ones, and so on;
// it is usually better for fields of floating-point numbers, and worse where many values are equal.
type Compress = dataset.Compress

// Layout says how the elements of a dataset lie in its files. Set and flag.Var take its name, or "variable", "process", "pnetcdf" or "hdf5".
type Layout = dataset.Layout

// Retain says how long the data of a Put must stay unchanged. Lending saves a copy, and
// its memory; a slice that is changed while it is lent may be written before the change, after it, or in between,
// with checksums that match.
type Retain = dataset.Retain

// Durability says what a commit waits for.
type Durability = dataset.Durability

// Grouping says which ranks write which subfile.
type Grouping = subfile.Grouping

// Stripe describes the units that a file system locks. It helps where ranks of several nodes write one
// subfile: with a Size, no two nodes write into the same unit, except for the header, which
// the first rank of the subfile writes.
type Stripe = dataset.Stripe

// Verification says which checksums are compared when data are read. A difference is an ErrChecksum of
// the read that met it; everything else can still be read. Datasets without a manifest have no checksums; chunks of compressed
// files, headers and what a reader needs to find the blobs are compared whatever is chosen, but for the maps with VerifyNever.
type Verification = read.Verification

const (
	// VariableCentric is PnetCDF's blob layout: CDF-5 subfiles in which every
	// variable, and every record of one, holds one blob per rank.
	VariableCentric = dataset.VariableCentric
	// ProcessCentric is the HDF5 blob layout: the datasets header_blob and
	// data_blob, one blob per rank that holds all its variables.
	ProcessCentric = dataset.ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical = dataset.Canonical
)

const (
	// CopyOnPut: the slice may be used again when Put returns. The copies are
	// held until Flush, and until Close in the process-centric layout without Options.Records; Options.Memory bounds them.
	CopyOnPut = dataset.CopyOnPut
	// LendUntilFlush: the slice is lent until Flush (or Close) returns; with FlushAsync until Wait, or the
	// next flush of either kind, returns. Data that
	// cannot be written by then (process-centric without Options.Records) are
	// copied by Flush.
	LendUntilFlush = dataset.LendUntilFlush
	// LendUntilClose: the slice is lent until Close returns. Saves the copy of
	// the process-centric layout.
	LendUntilClose = dataset.LendUntilClose
)

const (
	// DurableCommit syncs the data, the directory and the manifest, in the
	// order that makes the commit survive a power loss.
	DurableCommit = dataset.DurableCommit
	// DurableData syncs the subfiles, not the names.
	DurableData = dataset.DurableData
	// DurableNone syncs nothing: the commit survives a crash of the program, not of the machine.
	DurableNone = dataset.DurableNone
)

const (
	// ByNode gives every node (ranks that share memory) one subfile; subfiles are numbered by the
	// lowest rank of their node.
	ByNode = subfile.ByNode
	// Blocks gives consecutive ranks one subfile: of P ranks and N subfiles, rank r writes subfile r*N/P.
	Blocks = subfile.Blocks
	// RoundRobin gives rank r subfile r mod N.
	RoundRobin = subfile.RoundRobin
)

const (
	// VerifyOnce, the default, compares every piece that a read takes bytes of, and reads the rest of it for that, once
	// while the dataset is open. A piece is an extent (what a subfile holds of a variable, of one record) or, where the
	// manifest has them, 1 MiB of it. Convert and Diff always verify like this, unless VerifyNever is chosen.
	VerifyOnce = read.VerifyOnce
	// VerifyWhole compares only pieces that one read takes as a whole. A read that takes less of a piece does not read
	// the rest of it, and does not see damage: ranks that each read a part of an extent may compare nothing.
	VerifyWhole = read.VerifyWhole
	// VerifyAlways is VerifyOnce at each read.
	VerifyAlways = read.VerifyAlways
	// VerifyNever compares nothing, for saving what is left of damaged data. Convert marks the dataset that it makes:
	// see Manifest.Unverified.
	VerifyNever = read.VerifyNever
)

// Validate says what is wrong with the options.
func (o *CanonicalOptions) Validate() error { return (*read.CanonicalOptions)(o).Validate() }

// Validate says what is wrong with the options.
func (o *OpenOptions) Validate() error { return (*read.OpenOptions)(o).Validate() }

// Validate says what is wrong with the options.
func (o *Options) Validate() error { return (*dataset.Options)(o).Validate() }
