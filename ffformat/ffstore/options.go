package ffstore

import (
	"time"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Durability says what a commit waits for.
type Durability uint8

const (
	// DurableCommit syncs data, digests, record and directories, in the order that makes
	// a commit survive a power loss.
	DurableCommit Durability = iota
	// DurableNone syncs nothing: a commit survives the end of the program. When the machine goes down, it may be lost;
	// remove the directory then.
	DurableNone
)

const maxKeep = 64 // of Options.Keep

// Options of Open, Check and Rebuild. nil, or a zero field, means the default. Check and Rebuild use FS, Workers and the fields that name them.
type Options struct {
	Layout    ffformat.Layout // default: the layout of the store; F for a new one
	Hash      ffformat.Hash   // MD5 (default): FTI can read the files; Fast: only we can
	BlockSize int             // bytes of a block; default 16384

	// Keep is how many committed checkpoints are kept, 1 to 64; default 1. There is one
	// slot more than that. Until the next checkpoint is written to it, it holds a spare that Recover falls back
	// to: the checkpoint before those that are kept.
	Keep int

	Durability Durability

	// Workers of one rank. Default: the processors, divided among the ranks of the process.
	Workers int

	// FS is the file system, default the operating system's. All ranks see one directory, whatever node they are on; there is no directory
	// of a node. Each node has its own side file in it.
	FS    vfs.FS
	Clock func() time.Time // default time.Now

	Quick    bool                    // Check: structure only, data are not read
	Progress func(done, total int64) // Check: files
	DryRun   bool                    // Rebuild only reports
	Force    bool                    // Rebuild also replaces a sound seal
}

// validate returns an error of the class ErrUsage if the options are wrong.
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

// writer are the options of a rank's Writer.
func (o *Options) writer(workers int) ffformat.Options {
	return ffformat.Options{
		Layout: o.Layout, Hash: o.Hash, BlockSize: o.BlockSize, Workers: workers,
	}
}
