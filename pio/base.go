package pio

import (
	"context"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// base is what of a file is committed.
type base struct {
	path    string
	records int64
	layout  blob.Layout
	netcdf4 bool
	version cdf5.Version
	stamp   stamp

	dims []dim // as they are there
	vars []Var
	atts [][]cdf5.Att // of vars, then of the file

	r     *blob.Reader // nil: not open
	k     *blob.Collective
	plans map[*Decomp]*blob.ReadPlan
}

// collective opens what is committed, if it is not open yet, for all ranks. Collective.
func (b *base) collective(ctx context.Context, c comm.Comm) (*blob.Collective, error) {
	if b.r != nil {
		return b.k, nil
	}
	r, err := blob.OpenComm(ctx, c, b.path, nil)
	if err != nil {
		return nil, err
	}
	b.r, b.k, b.plans = r, r.Collective(c), map[*Decomp]*blob.ReadPlan{}
	return b.k, nil
}

// close closes the files.
func (b *base) close() error {
	if b == nil || b.r == nil {
		return nil
	}
	r := b.r
	b.r, b.k, b.plans = nil, nil, nil
	return r.Close()
}

// snapshot is a base of the definitions as they are now.
func (f *File) snapshot(path string, layout blob.Layout) *base {
	b := &base{path: path, layout: layout, version: cdf5.CDF5, dims: slices.Clone(f.dims)}
	for _, v := range f.vars {
		b.vars = append(b.vars, Var{Name: v.name, Type: v.t, Dims: v.dims})
		b.atts = append(b.atts, slices.Clone(v.atts))
	}
	b.atts = append(b.atts, slices.Clone(f.atts))
	return b
}

// settle makes a snapshot the base, now that its files are there.
func (f *File) settle(b *base) error {
	old := f.base
	f.base = b
	for i := range b.vars {
		f.vars[i].stored = b.vars[i].Name
	}
	return old.close()
}

// adopt takes the definitions of what a Reader has opened.
func (f *File) adopt(r *blob.Reader) {
	s := r.Schema()
	for _, d := range s.Dims() {
		f.dims = append(f.dims, dim{d.Name, d.Len})
	}
	for _, v := range s.Vars() {
		x := &variable{name: v.Name, t: v.Type, frame: -1, atts: slices.Clone(v.Atts)}
		for _, d := range v.Dims {
			x.dims = append(x.dims, int(d))
		}
		f.vars = append(f.vars, x)
	}
	f.atts, f.records = slices.Clone(s.Attributes()), r.Records()
	b := f.snapshot(r.Base(), r.Layout())
	_ = f.settle(b) // there is no former one
	b.records, b.netcdf4, b.version = f.records, r.NetCDF4(), r.Version()
	b.r, b.k, b.plans = r, r.Collective(f.s.c), map[*Decomp]*blob.ReadPlan{}
}
