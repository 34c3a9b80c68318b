package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// newFile makes a File of options, which the ranks agree on.
func (s *System) newFile(ctx context.Context, path string, o *FileOptions, open bool, look func() error) (*File, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	f := &File{s: s, path: path, limits: usual}
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
		err = failed(EINVAL, "empty name of a file")
	}
	if err == nil && s.c.Rank() == s.root() && look != nil {
		err = look()
	}
	if err := f.settled(ctx, open, err); err != nil {
		return nil, err
	}
	return f, nil
}

// Create begins a file. Nothing is there under its name before the first Sync or Close, and what was there stays until then; an ordinary file
// whose place blobs take has the hidden name .NAME.replaced while they are written. Collective.
func (s *System) Create(ctx context.Context, path string, o *FileOptions) (*File, error) {
	ctx = comm.In(ctx, "System.Create")
	f, err := s.newFile(ctx, path, o, false, func() error {
		if info, err := os.Stat(subfile.Dir(path)); err != nil {
			return fmt.Errorf("create: %w", err)
		} else if !info.IsDir() {
			return failed(EINVAL, "create: %s is no directory", subfile.Dir(path))
		}
		if err := durable.Free(vfs.OS, path, true); err != nil {
			return fmt.Errorf("create: %w", err)
		}
		if _, err := subfile.Find(nil, path); o != nil && o.NoClobber && !errors.Is(err, fs.ErrNotExist) {
			return failed(EEXIST, "%s", path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.opt.Write, f.define = true, true
	return f, nil
}

// Open opens a file for reading, with FileOptions.Write for writing: blobs, CDF-1, CDF-2 and CDF-5 in either way, netCDF-4 for reading.
// The content decides what it is. A file for writing that is no blobs stays what it is: it is written anew at Close. Collective.
func (s *System) Open(ctx context.Context, path string, o *FileOptions) (*File, error) {
	ctx = comm.In(ctx, "System.Open")
	var was stamp // before it is opened: a change since then may be in what is read, or not
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
	f.base.stamp = stampOf(r.Manifest())
	f.opt.Form = Variable
	switch r.Layout() {
	case blob.ProcessCentric:
		f.opt.Form = Process
	case blob.Canonical:
		f.opt.Form, f.opt.Version, f.opened, f.base.stamp = Canonical, r.Version(), f.base, was
		if was == "" && s.c.Rank() == s.root() { // path is its directory
			f.base.stamp, _ = f.base.read() // without: ESTALE at a write
		}
	}
	if f.opt.Write && r.NetCDF4() {
		return nil, errors.Join(failed(EINVAL, "%s is netCDF-4, which is not written: want it opened for reading", path), f.base.close())
	}
	if f.opt.Form != Canonical {
		f.path = r.Base()
	}
	return f, nil
}

// hidden is the name of the blobs of which a canonical file is made.
func (f *File) hidden() string {
	return filepath.Join(subfile.Dir(f.path), fmt.Sprintf(".%s.%08x.blobs", filepath.Base(f.path), f.number))
}

// blobPath is where blobs are written.
func (f *File) blobPath() string {
	if f.opt.Form == Canonical {
		return f.hidden()
	}
	return f.path
}

// clear moves an ordinary file aside whose place blobs take. Collective.
func (f *File) clear(ctx context.Context) error {
	var err error
	if f.base == nil && f.opt.Form != Canonical && !f.opt.NoClobber && f.s.c.Rank() == f.s.root() {
		if _, serr := os.Lstat(f.path); serr == nil {
			if err = durable.Free(vfs.OS, f.path, true); err == nil {
				err = f.rename(f.path, f.beside("replaced"))
				f.aside = err == nil
			}
		}
	}
	return agree(ctx, f.s.c, err)
}

// beside is a hidden name next to that of the file.
func (f *File) beside(what string) string {
	return filepath.Join(subfile.Dir(f.path), "."+filepath.Base(f.path)+"."+what)
}

// rename is as durable as the file.
func (f *File) rename(from, to string) error {
	if f.opt.Durability == blob.DurableNone {
		return durable.Move(vfs.OS, from, to)
	}
	return durable.Rename(vfs.OS, from, to)
}

// replaced removes what clear has moved aside once blobs have taken its place, and brings it back if they have not.
func (f *File) replaced() (err error) {
	if !f.aside || f.base == nil && f.w != nil {
		return nil
	}
	if f.base != nil {
		err = os.Remove(f.beside("replaced"))
	} else {
		err = f.rename(f.beside("replaced"), f.path)
	}
	f.aside = err != nil
	return err
}

// Sync commits what was written: it is there for all who read, and after a crash. Of Canonical it is so in the hidden blobs that Close converts: under
// the file's name nothing changes before. If Close fails, its error names the blobs, which stay. Collective.
func (f *File) Sync(ctx context.Context) error {
	ctx = comm.In(ctx, "File.Sync")
	if err := f.usable(); err != nil {
		return err
	}
	first := f.base == nil
	err := f.commit(ctx)
	if first {
		err = agree(ctx, f.s.c, errors.Join(err, f.replaced()))
	}
	return err
}

// Close commits what was written and ends the use of the file, also if it fails. Collective.
func (f *File) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "File.Close")
	if err := f.usable(); err != nil {
		return err
	}
	err := f.commit(ctx)
	f.closed = true
	if f.w != nil {
		f.w.w.Abort()
		f.w = nil
	}
	if b := f.base; b != nil && f.opt.Form == Canonical && b.path == f.hidden() {
		stay := f.broken
		if stay == nil {
			stay = f.convert(ctx)
			err = errors.Join(err, stay)
		}
		if stay != nil {
			err = fmt.Errorf("%w (what was synced is in the blobs %s)", err, b.path)
		}
	}
	return agree(ctx, f.s.c, errors.Join(err, f.base.close(), f.replaced(), f.report(ctx)))
}

// convert makes the ordinary file of the blobs, and removes them. Collective.
func (f *File) convert(ctx context.Context) error {
	defer f.stats.spend(converting)()
	if _, err := f.base.collective(ctx, f.s.c); err != nil {
		return err
	}
	if f.opened != nil {
		if err := f.unchanged(ctx, f.opened, false); err != nil {
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
	if got[0] < 0 { // it stays until the file is whole
		out = f.beside("new")
	}
	o := &blob.ConvertOptions{Version: f.opt.Version, Force: true, Durability: f.opt.Durability}
	if o.Version == 0 {
		o.Version = cdf5.CDF5
	}
	if err := blob.ConvertComm(ctx, f.s.c, f.base.r, out, o); err != nil {
		return err
	}
	err = f.base.close()
	if root && out != f.path {
		if err = errors.Join(err, removeAll(f.path)); err == nil {
			err = f.rename(out, f.path)
		}
		if err != nil {
			err = fmt.Errorf("%s: the whole file is %s: %w", f.path, out, err)
		}
	}
	if root && err == nil {
		err = removeAll(f.hidden())
	}
	return agree(ctx, f.s.c, err)
}

// Delete removes all files of a dataset, or an ordinary file. Collective.
func (s *System) Delete(ctx context.Context, path string) error {
	ctx = comm.In(ctx, "System.Delete")
	if err := s.usable(); err != nil {
		return err
	}
	var err error
	if s.c.Rank() == s.root() {
		err = removeAll(path)
	}
	return agree(ctx, s.c, err)
}

// removeAll removes the files of a dataset: what says that they are one comes last, so that what is left of it, if it is cut short, is no dataset.
func removeAll(path string) error {
	set, err := subfile.Find(nil, path)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if set.Single {
		return os.Remove(path)
	}
	if w, err := blob.WriterOf(set.Base); err == nil && w != nil && w.State == "writing" {
		return fmt.Errorf("delete: %s: %s is writing it: %w", set.Base, w.Holder, blob.ErrInUse)
	}
	names, err := filesOf(set)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	for _, n := range names {
		if err := os.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// filesOf lists all files of a dataset.
func filesOf(set *subfile.Set) ([]string, error) {
	base := set.Base
	var names []string
	for _, n := range set.Members {
		names = append(names, n)
	}
	state, err := subfile.ReadState(nil, base)
	if err == nil {
		known, kerr := state.Known(nil, base)
		if kerr != nil {
			return nil, kerr
		}
		entries, derr := os.ReadDir(subfile.Dir(base))
		if derr != nil {
			return nil, derr
		}
		for _, e := range entries {
			for _, m := range append(known, state.Manifest) {
				if m != nil && m.Lists(e.Name()) {
					names = append(names, filepath.Join(subfile.Dir(base), e.Name()))
				}
			}
		}
	}
	for _, list := range []func() ([]string, error){
		func() ([]string, error) { return subfile.Partials(nil, base) },
		func() ([]string, error) { return subfile.Records(nil, base) },
		func() ([]string, error) { return subfile.Logs(nil, base) },
	} {
		more, err := list()
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return append(names, subfile.NextName(base), subfile.ManifestName(base)), nil
}
