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
	// DurableNone syncs nothing. A commit survives the end of the program, but a crash of the machine may lose it. Remove the
	// directory after such a crash.
	DurableNone
)

const maxKeep = 64 // maximum of Options.Keep

// Options are the options of Open, Check and Rebuild. nil or a zero field means the default. Check and Rebuild use FS, Workers
// and the fields that name them.
type Options struct {
	Layout    ffformat.Layout // default: the layout of the store; F for a new one
	Hash      ffformat.Hash   // MD5 (default), which FTI can read, or Fast, which only blobio can read
	BlockSize int             // size of a block in bytes; default 16384

	// Keep is the number of committed checkpoints to keep, 1 to 64; default 1. There is one more slot. Until the next checkpoint
	// overwrites that slot, it holds a spare that Recover falls back to: the checkpoint before the kept ones.
	Keep int

	Durability Durability

	// Workers is the number of workers of one rank. Default: the number of processors divided by the ranks of the process.
	Workers int

	// FS is the file system; default: the operating system's. All ranks on all nodes must see the same directory. Each node has its
	// own side file in it.
	FS    vfs.FS
	Clock func() time.Time // default time.Now

	Quick    bool                    // Check: structure only, data are not read
	Progress func(done, total int64) // Check: progress in files
	DryRun   bool                    // Rebuild only reports
	Force    bool                    // Rebuild also replaces a sound seal
}

// validate returns an error of class ErrUsage if the options are invalid.
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

// writer returns the options of a rank's Writer.
func (o *Options) writer(workers int) ffformat.Options {
	return ffformat.Options{
		Layout: o.Layout, Hash: o.Hash, BlockSize: o.BlockSize, Workers: workers,
	}
}
