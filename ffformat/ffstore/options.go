package ffstore

import (
	"time"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Durability selects which failures a commit survives.
type Durability uint8

const (
	// DurableCommit syncs data, digests, record and directories in an order that makes a commit survive a power loss.
	DurableCommit Durability = iota
	// DurableNone syncs nothing. A commit survives the end of the program, but a crash of the machine may lose or damage it.
	// Remove the directory after such a crash.
	DurableNone
)

const maxKeep = 64 // maximum of Options.Keep

// Options are the options of Open, Check and Rebuild. A nil pointer or a zero field means the default. Check and Rebuild use only
// FS, Workers, and the fields whose comments name them.
type Options struct {
	Layout    ffformat.Layout // default: the layout of the store; F for a new one
	Hash      ffformat.Hash   // MD5 (default), which FTI reads, or Fast, which only blobio reads
	BlockSize int             // size of a block in bytes; default 16384

	// Keep is the number of committed checkpoints to keep, 1 to 64; default 1. The store has one slot more than this number. The
	// additional slot holds a spare, the checkpoint before the kept ones, until the next checkpoint overwrites it. Recover can
	// fall back to the spare.
	Keep int

	Durability Durability

	// Workers is the number of goroutines that one rank uses for I/O and hashing. Default: the number of processors divided by
	// the ranks of the process.
	Workers int

	// FS is the file system. The default is the file system of the operating system. All ranks on all nodes must see the same
	// directory. Each node writes its own side file in it.
	FS    vfs.FS
	Clock func() time.Time // default time.Now

	Quick    bool                    // for Check: check only the structure, do not read the data
	Progress func(done, total int64) // for Check: receives the number of files checked
	DryRun   bool                    // for Rebuild: only report
	Force    bool                    // for Rebuild: replace even a sound seal
}

func (o *Options) validate() error {
	v := o.withDefaults()
	switch {
	case v.Keep < 1 || v.Keep > maxKeep:
		return fault.Usage("Options.Keep %d, want 1 to %d", v.Keep, maxKeep)
	case v.Durability > DurableNone:
		return fault.Usage("Options.Durability %d is unknown", v.Durability)
	case v.Workers < 0:
		return fault.Usage("Options.Workers %d, want >= 0", v.Workers)
	}
	w := v.writer(0)
	_, err := ffformat.NewWriter(&w)
	return err
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Keep == 0 {
		v.Keep = 1
	}
	if v.BlockSize == 0 {
		v.BlockSize = 16384
	}
	v.FS = vfs.OrOS(v.FS)
	if v.Clock == nil {
		v.Clock = time.Now
	}
	return v
}

func (o *Options) writer(workers int) ffformat.Options {
	return ffformat.Options{
		Layout: o.Layout, Hash: o.Hash, BlockSize: o.BlockSize, Workers: workers,
	}
}
