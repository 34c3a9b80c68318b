package blocks

import (
	"fmt"

	"blobio/amr"
	"blobio/blob"
)

// Form is how the dataset lies in files.
type Form uint8

const (
	// Canonical is one CDF-5 file, which every netCDF tool reads.
	Canonical Form = iota
	// VariableCentric is blobs of the ranks in CDF-5 subfiles.
	VariableCentric
	// ProcessCentric is blobs of the ranks in HDF5 subfiles.
	ProcessCentric
)

var formNames = [...]string{"canonical", "variable-centric", "process-centric"}

// String returns "canonical", "variable-centric" or "process-centric".
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// Layout returns the layout of package blob; a Canonical form has blob.Canonical.
func (f Form) Layout() blob.Layout {
	return [...]blob.Layout{blob.Canonical, blob.VariableCentric, blob.ProcessCentric}[f]
}

// Options of Write and Convert. The zero value, or nil, means the defaults.
type Options struct {
	// Form of the files. Default Canonical.
	Form Form
	// Ordering puts the blocks of all ranks in an order. Default nil: rank by rank,
	// as they are given.
	Ordering amr.Ordering
	// Subfiles is their number, of the forms with blobs. Default one per node.
	Subfiles int
	// Ranks is the number of blobs of each variable that Convert makes, for the
	// forms with blobs. Default 1.
	Ranks int
	// Force replaces what is there. Default false: ErrExist.
	Force bool
	// Durability says what the commit waits for. Default blob.DurableCommit.
	Durability blob.Durability
	// Buffer is what a rank collects before it writes, in bytes. Default 1 MiB,
	// range 4 KiB to 1 GiB.
	Buffer int
	// Workers is how many goroutines of Convert read and write. Default the number
	// of CPUs, at most 16.
	Workers int
	// Progress is called by Convert with the blocks that are done, by several goroutines.
	Progress func(done, total int64)
}

const (
	defaultBuffer        = 1 << 20
	minBuffer, maxBuffer = 4 << 10, 1 << 30
)

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case int(o.Form) >= len(formNames):
		return pkg.Usage("form %d", o.Form)
	case o.Subfiles < 0:
		return pkg.Usage("%d subfiles", o.Subfiles)
	case o.Ranks < 0:
		return pkg.Usage("%d ranks", o.Ranks)
	case o.Workers < 0:
		return pkg.Usage("%d workers", o.Workers)
	case o.Form == Canonical && (o.Subfiles > 0 || o.Ranks > 0):
		return pkg.Usage("subfiles and ranks are for forms with blobs")
	case o.Buffer != 0 && (o.Buffer < minBuffer || o.Buffer > maxBuffer):
		return pkg.Usage("a buffer of %d bytes, want %d to %d", o.Buffer, minBuffer, maxBuffer)
	case o.Durability > blob.DurableNone:
		return pkg.Usage("durability %d", o.Durability)
	}
	return nil
}

// filled returns a copy with the defaults in place.
func (o *Options) filled() Options {
	var f Options
	if o != nil {
		f = *o
	}
	if f.Buffer == 0 {
		f.Buffer = defaultBuffer
	}
	return f
}
