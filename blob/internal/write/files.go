package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// nameSet gives the subfiles of a set their final names, on world rank 0.
func (s *files) nameSet(set string) error {
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	s.named = true
	return durable.RenameAll(s.job.Opt.Fs, func(yield func(from, to string) bool) {
		for i := range s.job.Subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, s.job.Ten.Tag()), name) {
				return
			}
		}
	}, s.job.Opt.Durability == dataset.DurableCommit)
}

// unname removes, on world rank 0, the subfiles of a set that was not committed from their final names.
func (s *files) unname() error {
	s.named = false
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	for i := range s.job.Subfiles {
		if err := durable.Remove(s.job.Opt.Fs, subfile.Name(s.set, i)); err != nil {
			return err
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base))
}

// removeMade removes the subfile that this process created.
func (s *files) removeMade() {
	if !s.job.Lead {
		return
	}
	e := s.job.Eng
	e.Proc.Pool.CloseFile(e.File.Name)
	if e.File.Made && (IsPartial(e.File.Name) || s.job.Ten.Check() == nil) { // under a final name there may be the file of who has taken over
		_ = s.job.Opt.Fs.Remove(e.File.Name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it says whether they are gone for good.
func (s *files) removeFinals() bool {
	if s.made != filesAll || s.job.Ten.Check() != nil {
		return false // other ranks may still be creating them, or they are another writer's
	}
	for i := range s.job.Subfiles {
		if err := s.job.Opt.Fs.Remove(subfile.Name(s.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base)) == nil
}

// Make creates the subfiles of the set base, if no rank has met an error yet.
func (s *files) Make(ctx context.Context, base string, err error) error {
	s.set = base
	if s.job.Lead && err == nil {
		e := s.job.Eng
		e.Proc.Tenure.Store(s.job.Ten)
		e.File.Called(base, s.claim.Rename, s.job.Ten)
		e.File.enter()
		if e.Layout.Table.ID[0] == 0 && !s.claim.Rename && s.job.Ten.apart {
			if err = s.job.Ten.Join(); err == nil {
				err = s.job.Ten.Check() // under a final name it could be in the way of who takes over
			}
		}
		if e.Layout.Table.ID[0] == 0 && err == nil {
			f, cerr := s.job.Opt.Fs.Create(e.File.Name)
			if err = cerr; err == nil {
				e.File.Made = true
				err = e.Proc.Pool.Keep(e.File.Name, f)
			} else if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w: %w", err, dataset.ErrExist)
			}
		}
		e.File.leave()
	}
	s.made = filesSome
	if err := comm.Agree(ctx, s.job.C, s.job.Ten.Explain(err)); err != nil {
		// Under final names they must be gone before the announcement is, or
		// they would look like a dataset of another program.
		s.removeMade()
		if s.job.C.Barrier(ctx) == nil {
			s.made = filesNone
		}
		return err
	}
	s.made = filesAll
	if s.job.Opt.Records == 0 || !s.unplaced() {
		return nil
	}
	return comm.Agree(ctx, s.job.C, s.place(s.job.Limit))
}

// unplaced says that it is still to be known where the blobs of ranks begin.
func (s *files) unplaced() bool { return s.job.Opt.Layout.Traits().ByRank && !s.placed }

// place gives every rank's blob its place in a process-centric subfile, once
// the number of records is known.
func (s *files) place(records int64) error {
	if !s.unplaced() {
		return nil
	}
	s.placed = true
	if !s.job.Lead {
		return nil
	}
	return s.job.Eng.Layout.Settle(records - s.job.Eng.Layout.Base)
}

// EachGrown calls f for the subfiles of the last set of a variable-centric dataset, which grow in place, with their number of records, their size,
// and the size that the manifest says.
func EachGrown(fsys vfs.FS, base string, m *subfile.Manifest, f func(name string, records, size, want int64) error) error {
	last := m.Last()
	for i := range last.Subfiles {
		name := subfile.Name(filepath.Join(subfile.Dir(base), last.Base), i)
		file, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is lost, or has its partial name; Check says so
		}
		if err != nil {
			return err
		}
		var b [layout.NumrecsLen]byte
		size, err := file.Size()
		if err == nil {
			err = layout.ReadFull(file, b[:], layout.NumrecsAt, name, "numrecs")
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		if err := f(name, int64(binary.BigEndian.Uint64(b[:])), size, last.Subfiles[i].Size); err != nil {
			return err
		}
	}
	return nil
}

// OfManifest reports whether a subfile of the last set has the length and the header that the manifest says: one of another dataset may have got its name.
func OfManifest(fsys vfs.FS, name string, m *subfile.Manifest) (bool, error) {
	_, i, _ := subfile.Split(name)
	info := &m.Last().Subfiles[i]
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size < info.Size {
		return false, err
	}
	pl, _, err := dataset.DecodePlace(f, size, name, 0)
	if errors.As(err, new(*dataset.FormatError)) && !errors.As(err, new(*fs.PathError)) {
		return false, nil
	}
	if err != nil || pl.Plain || pl.HeaderLen != info.HeaderLen {
		return false, err
	}
	crc, err := dataset.HeaderCRC(f, pl, name)
	return crc == info.HeaderCRC, err
}

// Cut is settle, and reports whether it cut anything off. Files with other names, whose copies need space, are cut only if linked.
func Cut(fsys vfs.FS, base string, m *subfile.Manifest, ten *Tenure, linked bool) (made bool, _ error) {
	have := m.Last().Records
	err := EachGrown(fsys, base, m, func(name string, records, size, want int64) error {
		if records == have && size <= want {
			return nil
		}
		if is, err := OfManifest(fsys, name, m); !is {
			return err
		}
		if !linked {
			if info, err := fsys.Stat(name); err != nil || vfs.Links(info) != 1 {
				return err
			}
		}
		if err := subfile.Unshare(fsys, name, want, ten.By(), true); err != nil {
			return err
		}
		f, err := fsys.OpenRW(name)
		if err != nil {
			return err
		}
		err = ten.Check()
		if err == nil && records != have {
			err = SetRecords(f, have)
		}
		if err == nil && size > want {
			made, err = true, f.Truncate(want)
		}
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
	return made, err
}

// IsPartial reports whether a file has a name that its commit takes away.
func IsPartial(name string) bool {
	_, _, ok := subfile.Final(name)
	return ok
}

// files are the subfiles of the set that is being written.
type files struct {
	job    *Job
	claim  *claim
	set    string // base name
	made   filesState
	placed bool // process-centric: every blob has its place
	named  bool // world rank 0: the files of a further set have, or get, their final names
}

// filesState says which subfiles of this session may be there.
type filesState uint8

const (
	filesNone filesState = iota
	filesSome            // being created, or a rank failed to
	filesAll
)
