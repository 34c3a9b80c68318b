package dataset

import (
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"time"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/layout"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// Retain is blob.Retain.
type Retain uint8

const (
	// CopyOnPut lets the caller use the slice again when Put returns. Copies are kept until Flush; in the process-centric layout
	// without Options.Records until Close. Options.Memory limits them.
	CopyOnPut Retain = iota
	// LendUntilFlush lends the slice until Flush or Close returns, or with FlushAsync until Wait or the next flush of either kind
	// returns. Flush copies data that it cannot write yet (process-centric without Options.Records).
	LendUntilFlush
	// LendUntilClose lends the slice until Close returns. The process-centric layout then needs no copy.
	LendUntilClose
)

// Durability selects what a commit syncs.
type Durability uint8

const (
	// DurableCommit syncs data, directory and manifest in an order that lets the commit survive a power loss.
	DurableCommit Durability = iota
	// DurableData syncs the subfiles, but not their names in the directory.
	DurableData
	// DurableNone syncs nothing: the commit survives a crash of the program, but not of the machine.
	DurableNone
)

// CommitRename and CommitManifestOnly are values of Options.Renames: always rename, and never rename.
const (
	CommitRename       = math.MaxInt
	CommitManifestOnly = -1
)

const (
	defaultMemory  = 2 << 30
	DefaultBuffer  = 4 << 20
	defaultRenames = 64
)

// Stripe is blob.Stripe.
type Stripe struct {
	// Size of a unit in bytes, a multiple of 8 from 4 KiB to 1 GiB: the stripe size of Lustre, or the block size of GPFS. With 0,
	// the default, each node writes the data of its ranks without regard to other nodes.
	Size int64
	// Count is the number of servers to which units go in turn (Lustre's stripe count). Each aggregator then writes units of as
	// few servers as possible. 0 means unknown.
	Count int
}

// Options is blob.Options.
type Options struct {
	Layout   Layout           // VariableCentric (default) or ProcessCentric
	Grouping subfile.Grouping // assignment of ranks to subfiles; default ByNode
	Subfiles int              // number of subfiles; 0: one per node. With ByNode, a number means Blocks

	Records int64

	Retain     Retain     // default CopyOnPut
	Durability Durability // default DurableCommit
	Renames    int        // see blob.Options

	FillIncomplete bool

	Force    bool     // replace a dataset of the same name, which stays readable until the new dataset is complete
	Repeats  bool     // a rank may own an element several times, and the last value counts; if false, such a rank gets ErrUsage
	WideMaps bool     // int64 offsets for maps of more than 2^31-1 elements; only blobio reads such files
	Compress Compress // process-centric only, default off; only blobio reads such files. Stripe and Aggregators then have no effect, because each rank writes its own compressed data

	Memory  int64 // limit of copies kept by one process, in bytes; default 2 GiB. Beyond this limit Put fails with ErrTooLarge, and so does a Flush that must copy
	Buffer  int   // bytes that a worker gathers for one write, 64 KiB to 1 GiB; default 4 MiB, but less in a small flush, and 256 KiB if several processes share a node
	Workers int   // concurrent writers of one process, at most 65,536; default GOMAXPROCS
	MaxOpen int   // open files of one process; default 256

	Aggregators int
	Stripe      Stripe // stripes of the file system; default none

	Heartbeat time.Duration

	OwnMin int64
}

// Validate checks the options.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Layout > ProcessCentric:
		return fault.Usage("Options.Layout %v, want variable-centric or process-centric", o.Layout)
	case o.Subfiles < 0:
		return fault.Usage("Options.Subfiles %d, want >= 0", o.Subfiles)
	case o.Records < 0:
		return fault.Usage("Options.Records %d, want >= 0", o.Records)
	case o.Retain > LendUntilClose:
		return fault.Usage("Options.Retain %d is unknown", o.Retain)
	case o.Durability > DurableNone:
		return fault.Usage("Options.Durability %d is unknown", o.Durability)
	case o.Renames < -1:
		return fault.Usage("Options.Renames %d, want >= -1", o.Renames)
	case o.Memory < 0:
		return fault.Usage("Options.Memory %d, want >= 0", o.Memory)
	case o.Buffer != 0 && (o.Buffer < 64<<10 || o.Buffer > 1<<30):
		return fault.Usage("Options.Buffer %d, want 64 KiB to 1 GiB", o.Buffer)
	case o.Aggregators < 0:
		return fault.Usage("Options.Aggregators %d, want >= 0", o.Aggregators)
	case o.Heartbeat != 0 && (o.Heartbeat < 30*time.Millisecond || o.Heartbeat > durable.MaxPeriod):
		return fault.Usage("Options.Heartbeat %v, want 30 ms to %v", o.Heartbeat, durable.MaxPeriod)
	case o.OwnMin < 0:
		return fault.Usage("Options.OwnMin %d, want >= 0", o.OwnMin)
	case o.Stripe.Size != 0 && (o.Stripe.Size < 4<<10 || o.Stripe.Size > 1<<30 || o.Stripe.Size%8 != 0):
		return fault.Usage("Options.Stripe.Size %d, want a multiple of 8 from 4 KiB to 1 GiB", o.Stripe.Size)
	case o.Stripe.Count < 0 || o.Stripe.Count > 0 && o.Stripe.Size == 0:
		return fault.Usage("Options.Stripe.Count %d, want >= 0, and 0 without Size", o.Stripe.Count)
	case o.Compress.Validate() != nil:
		return o.Compress.Validate()
	case o.Workers < 0 || o.Workers > MaxWorkers || o.MaxOpen < 0:
		return fault.Usage("Options.Workers %d, want 0 to %d, and MaxOpen %d, want >= 0", o.Workers, MaxWorkers, o.MaxOpen)
	}
	return nil
}

// Knobs are settings for tests only; zero values are the defaults. Tests pass them to internal functions.
type Knobs struct {
	Messages bool  // use messages instead of shared memory
	SyncMin  int64 // number of unsynced bytes that starts a background sync
	Chunk    int64 // bytes of a chunk of compressed data, a multiple of 8
	Piece    int64 // bytes that one checksum of a piece covers; old manifests have other sizes
	Lease    durable.LeaseOptions
	Fs       vfs.FS // default the operating system's
}

// Settings are the options and knobs of a writer.
type Settings struct {
	Options
	Knobs
	Spread bool // Buffer has its default value, so a small flush may use smaller tasks
}

// Plain returns the options without knobs.
func (o *Options) Plain() *Settings {
	if o == nil {
		return new(Settings)
	}
	return &Settings{Options: *o}
}

// Keeps reports whether puts are kept until Close, because their offsets depend on the number of records.
func (o *Options) Keeps() bool { return o.Layout.Traits().ByRank && o.Records == 0 }

// MaxWorkers limits the workers, because some lists have an entry per worker.
const MaxWorkers = 1 << 16

// WithDefaults returns a copy in which defaults replace zero values.
func (o *Settings) WithDefaults() Settings {
	v := *o
	if v.Memory == 0 {
		v.Memory = defaultMemory
	}
	if v.Buffer == 0 {
		v.Buffer, v.Spread = DefaultBuffer, true
	}
	if v.Renames == 0 {
		v.Renames = defaultRenames
	}
	v.Buffer &^= 7 // a multiple of 8, so that no element is cut
	if v.Chunk == 0 {
		v.Chunk = layout.DefaultChunk
	}
	if v.Piece == 0 {
		v.Piece = checksum.DefaultPiece
	}
	if v.Workers == 0 {
		v.Workers = runtime.GOMAXPROCS(0)
	}
	v.Fs = vfs.OrOS(v.Fs)
	if v.Subfiles > 0 && v.Grouping == subfile.ByNode {
		v.Grouping = subfile.Blocks
	}
	return v
}

// AggregatorsOf returns the number of aggregators among n processes of a node.
func (o *Options) AggregatorsOf(n int) int {
	if o.Aggregators > 0 {
		return min(o.Aggregators, n)
	}
	return max(1, min(n/4, 4))
}

// Hash hashes everything that must be the same on all ranks: the name, and all options except those that concern one process.
func (o *Options) Hash(name string) int64 {
	v := *o
	v.Memory, v.Workers, v.MaxOpen = 0, 0, 0
	return int64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%q %+v", name, v)))
}
