package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/subfile"
)

// A File is one rank's handle on an open file. All ranks call the same methods in the same order; methods with a context are
// collective. Indices of dimensions, variables and attributes count from 0. After Close every method returns EBADID.
type File struct {
	definitions
	s       *System
	opt     FileOptions
	place   place
	created string // on the root: key of System.begun; "": opened
	opened  *base  // the ordinary file that was opened and that Close replaces; nil: none
	ranks   agreement
	tx      transaction // the data, committed or not
	stats   stats
}

// ready returns an error unless calls on data are possible.
func (f *File) ready() error {
	if err := f.usable(); err != nil {
		return err
	}
	return f.ranks.broken
}

// usable returns EBADID unless the file is open. The zero File is not open.
func (f *File) usable() error {
	if f == nil {
		return failed(EBADID, "no file")
	}
	return f.mode.usable()
}

// newFile makes a File with options that the ranks agree on. look runs on the root.
func (s *System) newFile(ctx context.Context, path string, o *FileOptions, open bool, look func() error) (*File, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	f := &File{s: s, ranks: agreement{c: s.c}}
	f.tx = transaction{s: s, ranks: &f.ranks, defs: &f.definitions, opt: &f.opt, place: &f.place, stats: &f.stats, limits: usual}
	if o != nil {
		f.opt = *o
	}
	if f.opt.Memory == 0 {
		f.opt.Memory = defaultMemory
	}
	if f.opt.Buffer == 0 {
		f.opt.Buffer = defaultBuffer
	}
	err := f.opt.check()
	if path == "" {
		err = failed(EINVAL, "empty file name")
	}
	if err == nil && s.c.Rank() == s.root() {
		err = look()
	}
	number, err := f.opt.agree(ctx, s, path, open, err)
	if err != nil {
		return nil, err
	}
	f.mode = mode{path: path, open: true, write: f.opt.Write, auto: f.opt.Auto}
	if f.opt.Form == Canonical {
		f.format = f.opt.Version
	}
	f.place = place{path: path, form: f.opt.Form, durability: f.opt.Durability, number: number}
	return f, nil
}

// Create begins a file. No file appears under its name before the first Sync or Close, and an older file stays until then. While
// blobs replace an ordinary file, that file has the hidden name .NAME.replaced. Collective.
func (s *System) Create(ctx context.Context, path string, o *FileOptions) (*File, error) {
	ctx = comm.In(ctx, "System.Create")
	var name string
	var dead bool // on the root
	f, err := s.newFile(ctx, path, o, false, func() error {
		p := &place{path: path}
		noClobber := o != nil && o.NoClobber
		whole, err := p.whole()
		if err == nil && noClobber && s.begun[whole] > 0 {
			return failed(EEXIST, "%s: a file that is still open will have the name", path)
		}
		var free error
		if dead, free = p.free(noClobber); free != nil { // this error says more about a missing directory
			return free
		}
		name = whole
		return err
	})
	if err == nil && f.opt.NoClobber {
		keep := int64(1)
		if dead { // the remains of a dead writer may be replaced
			keep = 0
		}
		var all []int64
		if all, err = agreeMin(ctx, s.c, nil, keep); err == nil {
			f.opt.NoClobber = all[0] != 0
		}
	}
	if err != nil {
		return nil, err
	}
	f.write, f.define, f.created = true, true, name
	if name != "" {
		s.begun[name]++
	}
	return f, nil
}

// Open opens a file for reading, or with FileOptions.Write for writing too. The content decides the format. Blobs, CDF-1, CDF-2
// and CDF-5 can be read and written; netCDF-4 can only be read. A file opened for writing keeps its format: Close rewrites an
// ordinary file. Collective.
func (s *System) Open(ctx context.Context, path string, o *FileOptions) (*File, error) {
	ctx = comm.In(ctx, "System.Open")
	var was stamp // taken before opening, so that a later change makes the stamp stale
	f, err := s.newFile(ctx, path, o, true, func() error {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			was = stampOfFile(info)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r, err := blob.OpenComm(ctx, s.c, path, nil)
	if err != nil {
		return nil, err
	}
	for _, v := range r.Schema().Vars() {
		if err := checkRank(v.Name, len(v.Dims)); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
		}
	}
	f.adopt(r)
	f.tx.base.stamp = stampOf(r.Manifest())
	f.opt.Form = Variable
	switch r.Form().Layout {
	case blob.ProcessCentric:
		f.opt.Form = Process
	case blob.Canonical:
		f.opt.Form, f.opt.Version, f.opened, f.tx.base.stamp = Canonical, r.Form().Version, f.tx.base, was
		f.format = f.opt.Version
		if was == "" && s.c.Rank() == s.root() { // path may be the dataset's directory
			f.tx.base.stamp, _ = f.tx.base.read() // after an error a write is ESTALE
		}
	}
	if f.write && r.Form().NetCDF4 {
		return nil, errors.Join(failed(EINVAL, "%s is netCDF-4, which can only be opened for reading", path), f.tx.base.close())
	}
	if f.place.form = f.opt.Form; f.opt.Form != Canonical {
		f.path, f.place.path = r.Base(), r.Base()
	}
	return f, nil
}

// adopt makes an open Reader the base and takes its definitions.
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
	b := newBase(&f.definitions, r.Base(), r.Form().Layout)
	_ = f.tx.settle(b) // cannot fail: there is no former base
	b.records, b.netcdf4, b.version = f.records, r.Form().NetCDF4, r.Form().Version
	b.open(f.s.c, r)
}

// Format returns netCDF's format number: 1, 2 or 5 for a CDF file, 3 for netCDF-4, and 5 for blobs, which convert to CDF-5.
func (f *File) Format() (int, error) {
	if err := f.usable(); err != nil {
		return 0, err
	}
	if f.tx.base != nil && f.tx.base.netcdf4 {
		return 3, nil
	}
	if f.opt.Form == Canonical && f.opt.Version != 0 {
		return int(f.opt.Version), nil
	}
	return int(cdf5.CDF5), nil
}

// Sync commits all writes: readers see them, also after a crash. For a Canonical file Sync writes hidden blobs that Close
// converts: the file under its name changes only at Close. If Close fails, its error names the blobs, which stay. Collective.
func (f *File) Sync(ctx context.Context) error {
	ctx = comm.In(ctx, "File.Sync")
	if err := f.usable(); err != nil {
		return err
	}
	first := f.tx.base == nil
	err := f.tx.commit(ctx)
	if first {
		err = agree(ctx, f.s.c, errors.Join(err, f.restore()))
	}
	return err
}

// restore undoes or completes clear, unless the first writer is still open.
func (f *File) restore() error {
	if f.tx.base != nil && f.tx.w != nil {
		return nil
	}
	return f.place.restore(f.tx.base != nil)
}

// Close commits all writes and closes the file, even on errors. Collective.
func (f *File) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "File.Close")
	if err := f.usable(); err != nil {
		return err
	}
	err := f.tx.commit(ctx)
	f.open = false
	if n := f.s.begun; n[f.created] > 1 {
		n[f.created]--
	} else {
		delete(n, f.created)
	}
	if f.tx.w != nil {
		f.tx.w.w.Abort()
		f.tx.w = nil
	}
	if b := f.tx.base; b != nil && f.opt.Form == Canonical && b.path == f.place.hidden() {
		stay := f.ranks.broken
		if stay == nil {
			stay = f.convert(ctx)
			err = errors.Join(err, stay)
		}
		if stay != nil {
			err = fmt.Errorf("%w (the synced data are in the blobs %s)", err, b.path)
		}
	}
	return agree(ctx, f.s.c, errors.Join(err, f.tx.base.close(), f.restore(), f.stats.report(ctx, f.s, f.path, f.opt.Stats)))
}

// convert makes the ordinary file from the blobs, and removes the blobs. Collective.
func (f *File) convert(ctx context.Context) error {
	defer f.stats.spend(converting)()
	if _, err := f.tx.base.collective(ctx, f.s.c); err != nil {
		return err
	}
	if f.opened != nil {
		if err := f.opened.unchanged(ctx, f.s, false); err != nil {
			return err
		}
	}
	root, out, dataset := f.s.c.Rank() == f.s.root(), f.path, int64(0)
	if root {
		if set, err := subfile.Find(nil, f.path); err == nil && !set.Single {
			dataset = -1
		}
	}
	got, err := agreeMin(ctx, f.s.c, nil, dataset)
	if err != nil {
		return err
	}
	if got[0] < 0 { // the dataset stays until the file is complete
		out = f.place.beside("new")
	}
	o := &blob.ConvertOptions{Version: f.opt.Version, Force: true, Durability: f.opt.Durability}
	if o.Version == 0 {
		o.Version = cdf5.CDF5
	}
	if err := f.tx.base.r.Collective(f.s.c).Convert(ctx, out, o); err != nil {
		return err
	}
	err = f.tx.base.close()
	if root && out != f.path {
		err = errors.Join(err, f.place.install(out))
	}
	if root && err == nil {
		err = removeAll(f.place.hidden())
	}
	return agree(ctx, f.s.c, err)
}
