package blob

import (
	"fmt"
	"hash/crc32"
	"runtime"
	"time"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/layout"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// Retain says how long the data of a Put must stay unchanged. Lending saves a copy, and
// its memory; a slice that is changed while it is lent may be written before the change, after it, or in between,
// with checksums that match.
type Retain uint8

const (
	// CopyOnPut: the slice may be used again when Put returns. The copies are
	// held until Flush, and until Close in the process-centric layout without Options.Records; Options.Memory bounds them.
	CopyOnPut Retain = iota
	// LendUntilFlush: the slice is lent until Flush (or Close) returns; with FlushAsync until Wait, or the
	// next flush of either kind, returns. What
	// cannot be written by then (process-centric without Options.Records) is
	// copied by Flush.
	LendUntilFlush
	// LendUntilClose: the slice is lent until Close returns. Saves the copy of
	// the process-centric layout.
	LendUntilClose
)

// Durability says what a commit waits for.
type Durability uint8

const (
	// DurableCommit syncs the data, the directory and the manifest, in the
	// order that makes the commit survive a power loss.
	DurableCommit Durability = iota
	// DurableData syncs the subfiles, not the names.
	DurableData
	// DurableNone syncs nothing: the commit survives a crash of the program, not of the machine.
	DurableNone
)

// CommitMode says how subfiles get their names.
type CommitMode uint8

const (
	// CommitAuto renames subfiles up to 64 of them, and is manifest-only above.
	CommitAuto CommitMode = iota
	// CommitRename writes subfiles under partial names and renames them.
	CommitRename
	// CommitManifestOnly writes subfiles under their names; the manifest alone
	// commits. Replacing a dataset always renames.
	CommitManifestOnly
)

// Incomplete says what Commit does with records that lack something.
type Incomplete uint8

const (
	// HoldBack commits the records before the first such record; it and those after it stay with the writer until they are whole, or until Close, which
	// fills what is missing. Commit says so with a HeldBackError. A variable that nobody has put in any record, of this session or before, is not missed.
	HoldBack Incomplete = iota
	// FillIncomplete commits all records up to the highest that was put, with fill values for what was not.
	FillIncomplete
)

const (
	defaultMemory  = 2 << 30
	defaultBuffer  = 4 << 20
	maxAutoRenames = 64
)

// Stripe tells what a file system locks. It helps where ranks of several nodes write one
// subfile: with a Size, no two nodes write into the same unit, except for the header, which
// the first rank of the subfile writes.
type Stripe struct {
	// Size of a unit in bytes, a multiple of 8 from 4 KiB to 1 GiB: the stripe size of Lustre, the block size of
	// GPFS. 0 (default): each node writes what its ranks have, whatever other nodes do.
	Size int64
	// Count is the number of servers that the units are dealt to in turn, Lustre's stripe count: an aggregator
	// then writes units of as few servers as can be. 0: not known.
	Count int
}

// Options of Create and Append. The zero value, or nil, means the defaults.
type Options struct {
	Layout   Layout           // VariableCentric (default) or ProcessCentric
	Grouping subfile.Grouping // of ranks to subfiles; default ByNode
	Subfiles int              // number of subfiles; 0: one per node. With ByNode and a number it means Blocks

	// Records fixes the number of records of a process-centric dataset, 0 if it
	// is not known. If it is, puts are written at Flush in bounded memory;
	// if not, they are kept until Close. Ignored by the variable-centric layout.
	Records int64

	Retain     Retain     // default CopyOnPut
	Durability Durability // default DurableCommit
	CommitMode CommitMode // default CommitAuto
	Incomplete Incomplete // records that Commit commits; default HoldBack
	Force      bool       // replace a dataset of the same name; it stays readable until the new one is whole
	Repeats    bool       // a rank may hold an element more than once, of which the later value counts; default: that is ErrUsage
	WideMaps   bool       // int64 offsets for maps of more than 2^31-1 elements; only blobio reads such files
	Compress   Compress   // process-centric only, default off; only blobio reads such files. Stripe and Aggregators then have no effect: each rank writes what it has compressed

	Memory  int64 // cap of data kept in copies by one process, in bytes; default 2 GiB. Over it Put fails with ErrTooLarge, Flush too if it has to copy
	Buffer  int   // bytes that a worker gathers and writes at a time, 64 KiB to 1 GiB; default up to 4 MiB: less in a small flush, 256 KiB in processes that share a node
	Workers int   // concurrent writers of one process, up to 65,536; default GOMAXPROCS
	MaxOpen int   // open files of one process; default 256

	// Aggregators is how many processes of each node write small pieces, for ranks that share no heap (MPI).
	// 0: one for each 4 processes, at least 1 and at most 4. (Writes to one file exclude each other in most
	// kernels; a parallel file system may want more.)
	Aggregators int
	Stripe      Stripe // of the file system; default none

	// Heartbeat is the period within which the writer gives a sign of life, 30 ms to 10 minutes, so that readers on other machines are told of its death
	// within twice that time: see Watch. It writes to a small file three times in each. 0 (default): 15 s on file systems that machines share, none on those of one
	// machine, where the lock of the file tells.
	Heartbeat time.Duration

	// OwnMin, for ranks that share no heap, is the mean size in bytes of the ranks' pieces of a variable (process-centric: of
	// all that a rank puts) from which on each rank writes its own; smaller ones go to the aggregators. 0: 128 KiB, without
	// shared memory 64 KiB.
	OwnMin int64
}

// Validate says what is wrong with the options.
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
	case o.CommitMode > CommitManifestOnly:
		return fault.Usage("Options.CommitMode %d is unknown", o.CommitMode)
	case o.Incomplete > FillIncomplete:
		return fault.Usage("Options.Incomplete %d is unknown", o.Incomplete)
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
	case o.Compress.validate() != nil:
		return o.Compress.validate()
	case o.Workers < 0 || o.Workers > maxWorkers || o.MaxOpen < 0:
		return fault.Usage("Options.Workers %d and MaxOpen %d, want 0 to %d and >= 0", o.Workers, o.MaxOpen, maxWorkers)
	}
	return nil
}

// knobs are what no user sets: zero values are the defaults, tests pass others to the functions behind the public ones.
type knobs struct {
	messages bool  // no shared memory
	syncMin  int64 // see syncDue
	chunk    int64 // of compressed data, a multiple of 8
	piece    int64 // of an extent that has a checksum of its own; old manifests have others
	lease    durable.LeaseOptions
	fs       vfs.FS // default the operating system's
}

// settings are what a writer goes by.
type settings struct {
	Options
	knobs
	spread bool // Buffer is a default, so that a small flush may be cut smaller
}

// plain are options without knobs.
func (o *Options) plain() *settings {
	if o == nil {
		return new(settings)
	}
	return &settings{Options: *o}
}

// keeps says whether puts are kept until Close, since their places follow from the number of records.
func (o *Options) keeps() bool { return o.Layout.traits().ByRank && o.Records == 0 }

// maxWorkers bounds what has an entry for each worker, whether it is ever used or not.
const maxWorkers = 1 << 16

// withDefaults returns a copy in which every field holds what it means.
func (o *settings) withDefaults() settings {
	v := *o
	if v.Memory == 0 {
		v.Memory = defaultMemory
	}
	if v.Buffer == 0 {
		v.Buffer, v.spread = defaultBuffer, true
	}
	v.Buffer &^= 7 // elements are never cut
	if v.chunk == 0 {
		v.chunk = layout.DefaultChunk
	}
	if v.piece == 0 {
		v.piece = checksum.DefaultPiece
	}
	if v.Workers == 0 {
		v.Workers = runtime.GOMAXPROCS(0)
	}
	v.fs = vfs.OrOS(v.fs)
	if v.Subfiles > 0 && v.Grouping == subfile.ByNode {
		v.Grouping = subfile.Blocks
	}
	return v
}

// aggregators is how many of n processes of a node are aggregators.
func (o *Options) aggregators(n int) int {
	if o.Aggregators > 0 {
		return min(o.Aggregators, n)
	}
	return max(1, min(n/4, 4))
}

// hash is of what all ranks must pass alike, since what they do together depends on it: the name and all options but those that are each
// process's own.
func (o *Options) hash(name string) int64 {
	v := *o
	v.Memory, v.Workers, v.MaxOpen = 0, 0, 0
	return int64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%q %+v", name, v)))
}
