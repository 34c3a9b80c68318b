package pio

import (
	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// Global stands for a variable where the attributes of the file are meant.
const Global = -1

// Unlimited is the length of the record dimension in DefDim.
const Unlimited int64 = 0

// A File is one rank's handle on a file that is written or read. All ranks call the same methods in the same order; those with a context are
// collective. Numbers of dimensions, variables and attributes count from 0. After Close a method is EBADID.
type File struct {
	s      *System
	path   string
	opt    FileOptions
	closed bool
	define bool

	dims []dim
	vars []*variable
	atts []cdf5.Att

	records int64 // with those that are not written yet
	base    *base // what is committed; nil: nothing
	opened  *base // the ordinary file that was opened, which Close replaces; nil: there was none
	number  int64 // of the handle, the same on all ranks: two of one path need different blobs
	log     log
	w       *stream // a writer that is not committed yet; nil: none
	changed bool    // definitions differ from the base, or from the writer's
	broken  error   // data are lost
	aside   bool    // on the root: an ordinary file was moved to a hidden name and is there yet
	nofill  bool    // of variables that are defined next
	limits  limits
	stats   stats
}

// limits decide how variables are written, in bytes.
type limits struct {
	whole int64 // of a record, up to which a variable is not decomposed, unless it is written by a decomposition
	fresh int64 // the same of a new variable, if the dataset has no decomposition of its shape
	batch int64 // of records that a rank assembles at once, at least one
}

var usual = limits{whole: 64 << 10, fresh: 1 << 20, batch: 16 << 20}

// dim is a dimension.
type dim struct {
	name string
	n    int64 // 0: the record dimension
}

// variable is what a File knows of one.
type variable struct {
	name   string
	t      cdf5.Type
	dims   []int
	atts   []cdf5.Att
	nofill bool
	frame  int64  // of SetFrame
	stored string // its name in the base; "": it is not there
}

// Path returns the name that the file was created or opened with.
func (f *File) Path() string { return f.path }

// System returns the ranks of the file.
func (f *File) System() *System { return f.s }

// Redef goes to define mode. Not collective, but the same on all ranks.
func (f *File) Redef() error {
	if err := f.writable(); err != nil {
		return err
	}
	if f.define && !f.opt.Auto {
		return failed(EINDEFINE, "%s: redef", f.path)
	}
	f.define = true
	return nil
}

// EndDef goes to data mode. Not collective, but the same on all ranks.
func (f *File) EndDef() error {
	if err := f.writable(); err != nil {
		return err
	}
	if !f.define && !f.opt.Auto {
		return failed(ENOTINDEFINE, "%s: enddef", f.path)
	}
	f.define = false
	return nil
}

// usable says whether the file is open.
func (f *File) usable() error {
	if f == nil || f.s == nil || f.closed {
		return failed(EBADID, "the file is not open")
	}
	return nil
}

func (f *File) writable() error {
	if err := f.usable(); err != nil {
		return err
	}
	if !f.opt.Write {
		return failed(EPERM, "%s", f.path)
	}
	return nil
}

// definable says whether definitions may change.
func (f *File) definable() error {
	if err := f.writable(); err != nil {
		return err
	}
	if !f.define && !f.opt.Auto {
		return failed(ENOTINDEFINE, "%s: a definition, want redef before", f.path)
	}
	return nil
}

// dataMode says whether data may be written or read; both need the definitions to be complete.
func (f *File) dataMode(write bool) error {
	if err := f.usable(); err != nil {
		return err
	}
	if write && !f.opt.Write {
		return failed(EPERM, "%s", f.path)
	}
	if f.define && !f.opt.Auto {
		return failed(EINDEFINE, "%s: data, want enddef before", f.path)
	}
	return nil
}

// variable returns a variable of an open file.
func (f *File) variable(v int) (*variable, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	if v < 0 || v >= len(f.vars) {
		return nil, failed(ENOTVAR, "%s: variable %d, want 0..%d", f.path, v, len(f.vars)-1)
	}
	return f.vars[v], nil
}

// isRecord says whether a variable has the record dimension.
func (f *File) isRecord(v *variable) bool { return len(v.dims) > 0 && f.dims[v.dims[0]].n == Unlimited }

// shape returns the lengths of a variable's dimensions without the record dimension.
func (f *File) shape(v *variable) []int64 {
	dims := v.dims
	if f.isRecord(v) {
		dims = dims[1:]
	}
	n := make([]int64, len(dims))
	for i, d := range dims {
		n[i] = f.dims[d].n
	}
	return n
}

func product(n []int64) int64 {
	p := int64(1)
	for _, x := range n {
		p *= x
	}
	return p
}

// fill returns one element of what stands for nothing in a variable, in the byte order of the machine.
func (v *variable) fill() []byte {
	b := make([]byte, v.t.Size())
	cdf5.FillBytes(b, v.t, elem.HostOrder(), fillAtt(v))
	return b
}

func fillAtt(v *variable) *cdf5.Att {
	if a := cdf5.FindAtt(v.atts, "_FillValue"); a != nil && a.Type == v.t && a.Len() == 1 {
		return a
	}
	return nil
}
