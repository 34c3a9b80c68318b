package pio

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"

	"blobio/blob"
	"blobio/cdf5"
)

// Form is the kind of files that Create makes.
type Form uint8

// The forms.
const (
	Variable  Form = iota // variable-centric blobs
	Process               // process-centric blobs
	Canonical             // one ordinary netCDF file, made from blobs at Close
)

// ParseForm is the reverse of String.
func ParseForm(s string) (Form, error) {
	for f := range Canonical + 1 {
		if f.String() == s {
			return f, nil
		}
	}
	return 0, failed(EINVAL, "form %q, want variable, process or canonical", s)
}

// String returns the form's name.
func (f Form) String() string {
	if f > Canonical {
		return fmt.Sprintf("Form(%d)", uint8(f))
	}
	return [...]string{"variable", "process", "canonical"}[f]
}

// FileOptions are the options of Create and Open. They must be equal on all ranks, except for Buffer: all ranks use the value of rank
// SystemOptions.Base. The zero value, or nil, means the defaults.
type FileOptions struct {
	Write     bool         // Open: open for writing too
	NoClobber bool         // Create: an existing file is EEXIST; otherwise the new file replaces it
	Auto      bool         // the calls switch between define and data mode, as in netCDF-4 files
	OwnFill   bool         // WriteDarray with a fill value that differs from the variable's is EINVAL if the types of decomposition and variable are equal, unless Var.NoFill
	Form      Form         // Create: default Variable; Open keeps the form of the file
	Version   cdf5.Version // Canonical: CDF5 (default), CDF2 or CDF1

	Grouping   blob.Grouping   // like blob.Options
	Subfiles   int             // like blob.Options
	Durability blob.Durability // like blob.Options
	Stats      io.Writer       // one rank writes a line of byte counts and times at Close; nil: no line; nil on all ranks or on none
	// A rank with Buffer bytes of data writes them, where possible, without waiting for Sync or Close; default 64 MiB, negative: at
	// once. The System keeps at most Buffer bytes of memory for later writes and reads.
	Buffer int64
	// Memory is the maximum number of bytes of data that a rank keeps before it commits them, default 2 GiB. A write that needs
	// more on one rank, also to assemble records, is ENOMEM. Skipped records must be filled, so a write that skips more than
	// these bytes for each rank is EINVALCOORDS.
	Memory int64
}

const (
	defaultMemory = 2 << 30
	defaultBuffer = 64 << 20
)

func (o *FileOptions) check() error {
	switch {
	case o.Form > Canonical:
		return failed(EINVAL, "form %d, want at most %d", o.Form, Canonical)
	case o.Version != 0 && !o.Version.Valid():
		return failed(EINVAL, "version %d, want 1, 2 or 5", o.Version)
	case o.Memory < 0:
		return failed(EINVAL, "memory %d, want 0 or more", o.Memory)
	}
	b := o.blob()
	return b.Validate()
}

// agree returns the same error on all ranks if err is set on one, or if an option or the name of a new file differs. All ranks
// use the root's Buffer, which decides when to write, and the root's file number. Open ignores form and version, which may come
// from environment variables that some ranks lack. Collective.
func (o *FileOptions) agree(ctx context.Context, s *System, path string, open bool, err error) (number int64, _ error) {
	bit := map[bool]int64{true: 1}
	type option struct {
		name string
		n    int64
	}
	list := []option{{"Write", bit[o.Write]}, {"NoClobber", bit[o.NoClobber]}, {"Auto", bit[o.Auto]}, {"OwnFill", bit[o.OwnFill]}, {"Memory", o.Memory}, {"Stats", bit[o.Stats != nil]}}
	if !open {
		list = append(list, option{"Form", int64(o.Form)}, option{"Version", int64(o.Version)}, option{"", int64(crc32.ChecksumIEEE([]byte(path)))})
	}
	all := []int64{math.MaxInt64, math.MaxInt64} // so the minimum is the root's value
	if s.c.Rank() == s.root() {
		all[0], all[1] = o.Buffer, int64(rand.Uint32())
	}
	for _, l := range list {
		all = append(all, l.n, ^l.n)
	}
	if all, err = agreeMin(ctx, s.c, err, all...); err != nil {
		return 0, err
	}
	o.Buffer = all[0]
	for i, l := range list {
		if least, most := all[2*i+2], ^all[2*i+3]; least != most && l.name == "" {
			return 0, failed(EINVAL, "%s: ranks pass different names", path)
		} else if least != most {
			return 0, failed(EINVAL, "%s: ranks differ: FileOptions.%s is %d to %d (%d on rank %d), want one", path, l.name, least, most, l.n, s.c.Rank())
		}
	}
	return all[1], nil
}

// blob returns the options of a blob writer.
func (o *FileOptions) blob() *blob.Options {
	b := &blob.Options{Grouping: o.Grouping, Subfiles: o.Subfiles, Durability: o.Durability, Retain: blob.LendUntilFlush}
	if o.Form == Process {
		b.Layout = blob.ProcessCentric
	}
	return b
}

// room returns the maximum size in bytes of the records that a write may skip.
func (o *FileOptions) room(s *System) float64 { return float64(o.Memory) * float64(s.c.Size()) }
