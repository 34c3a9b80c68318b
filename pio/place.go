package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// place holds the names of a file being written.
type place struct {
	path       string
	form       Form
	durability blob.Durability
	number     int64 // handle number, the same on all ranks: two handles of one path need different hidden blobs
	aside      bool  // on the root: an ordinary file now has a hidden name
	linked     bool  // on the root: standIn made a link
}

// hidden returns the name of the blobs that Close converts to a canonical file.
func (p *place) hidden() string {
	return p.beside(fmt.Sprintf("%08x.blobs", p.number))
}

// blobs returns the base name of the blobs being written.
func (p *place) blobs() string {
	if p.form == Canonical {
		return p.hidden()
	}
	return p.path
}

// beside returns a hidden name next to the file's name.
func (p *place) beside(what string) string {
	return filepath.Join(subfile.Dir(p.path), "."+filepath.Base(p.path)+"."+what)
}

// whole returns the absolute name without symbolic links in its directory.
func (p *place) whole() (string, error) {
	dir, err := filepath.EvalSymlinks(subfile.Dir(p.path))
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return filepath.Join(dir, filepath.Base(p.path)), err
}

// rename renames a file with the durability of the options.
func (p *place) rename(from, to string) error {
	if p.durability == blob.DurableNone {
		return durable.Move(vfs.OS, from, to)
	}
	return durable.Rename(vfs.OS, from, to)
}

// free checks, on the root, that a new file can take the name. dead means that with noClobber only remains of a writer that died
// before its first commit have the name, which programs do not see.
func (p *place) free(noClobber bool) (dead bool, err error) {
	if info, err := os.Stat(subfile.Dir(p.path)); err != nil {
		return false, fmt.Errorf("create: %w", err)
	} else if !info.IsDir() {
		return false, failed(EINVAL, "create: %s is not a directory", subfile.Dir(p.path))
	}
	if err := durable.Free(vfs.OS, p.path, true); err != nil {
		return false, fmt.Errorf("create: %w", err)
	}
	set, err := subfile.Find(nil, p.path)
	dead = noClobber && err == nil && set.Base == p.path && !set.Manifest && (set.Next || len(set.Partials) > 0)
	if noClobber && !dead && !errors.Is(err, fs.ErrNotExist) {
		return false, failed(EEXIST, "%s", p.path)
	}
	if err == nil && !set.Single {
		err = idle("create", set.Base)
	}
	if errors.Is(err, blob.ErrInUse) {
		return false, err
	}
	return dead, nil
}

// idle returns an error while a program writes a dataset.
func idle(what, base string) error {
	if holder, state, err := blob.WriterOf(base); err == nil && state == "writing" {
		return fmt.Errorf("%s: %s: %s is writing it: %w", what, base, holder, blob.ErrInUse)
	}
	return nil
}

// standIn makes the link F.nc to F.nc.manifest, on the root, so that models that ask for the file F.nc find it after the first
// commit. There is no link if the file system has none. If the name is taken, the writer of the blobs decides.
func (p *place) standIn() error {
	err := os.Symlink(manifestOf(p.path), p.path)
	p.linked = err == nil
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	return err
}

// standsIn reports whether the file of a dataset's name is a link to its manifest, which need not exist yet, or a copy of it.
func standsIn(path string) bool {
	if to, err := os.Readlink(path); err == nil && to == manifestOf(path) {
		return true
	}
	stands, _ := subfile.StandIn(nil, path)
	return stands
}

// manifestOf returns the name of a dataset's manifest in its directory.
func manifestOf(path string) string { return subfile.ManifestName(filepath.Base(path)) }

// clear gives an ordinary file a hidden name, on the root, so that blobs can take its name.
func (p *place) clear() error {
	if _, err := os.Lstat(p.path); err != nil || standsIn(p.path) {
		return nil
	}
	if err := durable.Free(vfs.OS, p.path, true); err != nil {
		return err
	}
	err := p.rename(p.path, p.beside("replaced"))
	p.aside = err == nil
	return err
}

// restore removes the ordinary file that clear renamed, if blobs have taken the name. Otherwise it gives the file its name again,
// or removes the link of standIn.
func (p *place) restore(taken bool) (err error) {
	if !p.aside {
		if _, err := os.Stat(p.path); p.linked && !taken && errors.Is(err, fs.ErrNotExist) {
			return os.Remove(p.path) // the link to a manifest that will not exist
		}
		return nil
	}
	if taken {
		err = os.Remove(p.beside("replaced"))
	} else {
		err = p.rename(p.beside("replaced"), p.path)
	}
	p.aside = err != nil
	return err
}

// install gives a complete file the name of a dataset and removes the dataset.
func (p *place) install(whole string) error {
	err := removeAll(p.path)
	if err == nil {
		err = p.rename(whole, p.path)
	}
	if err != nil {
		return fmt.Errorf("%s: the complete file is %s: %w", p.path, whole, err)
	}
	return nil
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

// removeAll removes the files of a dataset, its manifest last, so that files left by an interruption are not a dataset.
func removeAll(path string) error {
	set, err := subfile.Find(nil, path)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if set.Single {
		return os.Remove(path)
	}
	if err := idle("delete", set.Base); err != nil {
		return err
	}
	names, err := filesOf(set)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if standsIn(set.Base) {
		names = append(names, set.Base)
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
