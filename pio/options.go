package pio

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/subfile"
)

// Form is what files a File leaves.
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

// FileOptions of Create and Open, the same on all ranks; of Buffer that of rank SystemOptions.Base counts. The zero value, or nil, means the defaults.
type FileOptions struct {
	Write     bool         // of Open: it is for writing, too
	NoClobber bool         // of Create: a file of the name is EEXIST, otherwise the new one takes its place
	Auto      bool         // define and data mode follow from what is called, as in netCDF-4 files
	Form      Form         // of Create, default Variable; Open keeps that of the file
	Version   cdf5.Version // of Canonical: CDF5 (default), CDF2 or CDF1

	Grouping   subfile.Grouping // as blob.Options
	Subfiles   int              // as blob.Options
	Durability blob.Durability  // as blob.Options
	Memory     int64            // bytes of data that a rank keeps, default 2 GiB: with more they are committed; one write that needs more, or makes a rank put together more, is ENOMEM; one that leaves out records, which are filled, of more than so much for each rank is EINVALCOORDS
	Stats      io.Writer        // what a line of bytes and times goes to at Close, from one rank; nil on all ranks, or on none: none
	Buffer     int64            // bytes of a rank's data from which on they are written before Sync and Close, where that is possible; default 64 MiB, negative: at once
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

// settled makes err, or an option that differs between ranks, an error on all, and Buffer that of the root, since it decides when ranks write. The root
// gives the file its number, too. Open does without the form and the version, which may come from an environment that not all ranks have. Collective.
func (f *File) settled(ctx context.Context, open bool, err error) error {
	o := &f.opt
	bit := map[bool]int64{true: 1}
	list := []struct {
		name string
		n    int64
	}{{"Write", bit[o.Write]}, {"NoClobber", bit[o.NoClobber]}, {"Auto", bit[o.Auto]}, {"Memory", o.Memory}, {"Form", int64(o.Form)}, {"Version", int64(o.Version)}}
	if open {
		list = list[:4]
	}
	all := []int64{math.MaxInt64, math.MaxInt64} // the root's are the least
	if f.s.c.Rank() == f.s.root() {
		all[0], all[1] = o.Buffer, int64(rand.Uint32())
	}
	for _, l := range list {
		all = append(all, l.n, ^l.n)
	}
	if all, err = agreeMin(ctx, f.s.c, err, all...); err != nil {
		return err
	}
	o.Buffer, f.number = all[0], all[1]
	for i, l := range list {
		if least, most := all[2*i+2], ^all[2*i+3]; least != most {
			return failed(EINVAL, "%s: ranks differ: FileOptions.%s is %d to %d (%d on rank %d), want one", f.path, l.name, least, most, l.n, f.s.c.Rank())
		}
	}
	return nil
}

// blob returns the options of a blob writer.
func (o *FileOptions) blob() *blob.Options {
	b := &blob.Options{Grouping: o.Grouping, Subfiles: o.Subfiles, Durability: o.Durability, Retain: blob.LendUntilFlush}
	if o.Form == Process {
		b.Layout = blob.ProcessCentric
	}
	return b
}
