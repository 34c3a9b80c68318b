package pio

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"blobio/blob"
	"blobio/cdf5"
)

// Form is the kind of files that a File leaves.
type Form uint8

// The forms.
const (
	Variable  Form = iota // variable-centric blobs
	Process               // process-centric blobs
	Canonical             // one ordinary netCDF file, made of blobs at Close
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

// FileOptions of Create and Open are the same on all ranks, but for Buffer: the value of rank SystemOptions.Base counts. The zero value, or nil, means the defaults.
type FileOptions struct {
	Write     bool         // of Open: it is for writing, too
	NoClobber bool         // of Create: a file of the name is EEXIST, otherwise the new one takes its place
	Auto      bool         // define and data mode follow from the calls, as in netCDF-4 files
	OwnFill   bool         // WriteDarray by a decomposition of the variable's type with another fill value than the variable's is EINVAL, unless Var.NoFill
	Form      Form         // of Create, default Variable; Open keeps the form of the file
	Version   cdf5.Version // of Canonical: CDF5 (default), CDF2 or CDF1

	Grouping   blob.Grouping   // as blob.Options
	Subfiles   int             // as blob.Options
	Durability blob.Durability // as blob.Options
	Stats      io.Writer       // gets a line of bytes and times at Close, from one rank; nil on all ranks or on none; nil: no line
	Buffer     int64           // a rank's data are written before Sync and Close, where possible, from this many bytes on; default 64 MiB, negative: at once
	// Memory is the most bytes of data that a rank keeps before it commits them, default 2 GiB. One write that needs more, or makes a rank assemble more, is
	// ENOMEM. A write that leaves out more bytes of records for each rank, which are filled, is EINVALCOORDS.
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

// agree makes err, or an option that differs between ranks, an error on all. Buffer, which decides when ranks write, and the number of the file are the root's.
// Open ignores the form and the version, which may come from an environment that not all ranks have. Collective.
func (o *FileOptions) agree(ctx context.Context, s *System, path string, open bool, err error) (number int64, _ error) {
	bit := map[bool]int64{true: 1}
	list := []struct {
		name string
		n    int64
	}{{"Write", bit[o.Write]}, {"NoClobber", bit[o.NoClobber]}, {"Auto", bit[o.Auto]}, {"OwnFill", bit[o.OwnFill]}, {"Memory", o.Memory}, {"Stats", bit[o.Stats != nil]},
		{"Form", int64(o.Form)}, {"Version", int64(o.Version)}}
	if open {
		list = list[:6]
	}
	all := []int64{math.MaxInt64, math.MaxInt64} // the root's are the least
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
		if least, most := all[2*i+2], ^all[2*i+3]; least != most {
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

// room is the most bytes of records that a write may leave out.
func (o *FileOptions) room(s *System) float64 { return float64(o.Memory) * float64(s.c.Size()) }
