package ffstore

import (
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"errors"
	"io/fs"
	"path/filepath"
)

// View reads a store in one process, without Comm. It serves tools, and restarts on another number of ranks.
type View struct {
	fsys vfs.FS
	dir  string
	rec  *record
}

// OpenView opens a store for reading. If the directory has no commit record, OpenView returns ErrNotCommitted if there are
// slots, and otherwise ErrNotFormat. A nil fsys means the operating system's file system.
func OpenView(dir string, fsys vfs.FS) (*View, error) {
	fsys = vfs.OrOS(fsys)
	rec, err := readRecord(fsys, dir)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		if _, err := fsys.ReadDir(dir); err != nil {
			return nil, err
		}
		if slots, err := slotDirs(fsys, dir); err == nil && len(slots) > 0 {
			return nil, fault.At(filepath.Join(dir, recordName), -1, "", ErrNotCommitted, "the seal is missing, but slots exist: the seal is lost (Rebuild makes one), or no checkpoint was committed")
		}
		return nil, fault.At(dir, -1, "", fault.ErrNotFormat, "not a store of checkpoints: file %q is missing", recordName)
	}
	if len(rec.Checkpoints) == 0 {
		return nil, fault.At(filepath.Join(dir, recordName), -1, "", ErrNotCommitted, "no checkpoint was ever committed")
	}
	return &View{fsys, dir, rec}, nil
}

// List returns the kept committed checkpoints, oldest first.
func (v *View) List() []Info { return v.rec.list() }

// Spares returns the checkpoints to which Recover can fall back, oldest first. They were committed but are not kept. The next
// checkpoints overwrite their slots, so a spare may be torn. Reader or ReadVars reports the damage.
func (v *View) Spares() []Info { return v.rec.infos(v.rec.Spares) }

// Ranks returns the number of ranks that wrote the store.
func (v *View) Ranks() int { return v.rec.Ranks }

// Slots returns the number of slots.
func (v *View) Slots() int { return v.rec.Slots }

// Layout returns the layout of the files.
func (v *View) Layout() ffformat.Layout { return layoutByName[v.rec.Layout] }

// Fast reports whether the files have Fast hashes, which FTI refuses.
func (v *View) Fast() bool { return v.rec.Hash == "fast" }

// Reader opens the file of a rank in a kept checkpoint or, if there is none with this id, in a spare. r reads from file. The
// caller must close file.
func (v *View) Reader(id int32, rank int) (r *ffformat.Reader, file vfs.File, err error) {
	e, err := v.rec.entry(v.dir, id)
	if err != nil {
		return nil, nil, err
	}
	if rank < 0 || rank >= v.rec.Ranks {
		return nil, nil, fault.Usage("rank %d of %d", rank, v.rec.Ranks)
	}
	return openRank(v.fsys, v.dir, e.forRank(rank), rank)
}

// openRank opens the file of a rank and checks that the file belongs to this checkpoint. The caller must close the file.
func openRank(fsys vfs.FS, dir string, e *entry, rank int) (*ffformat.Reader, vfs.File, error) {
	f, size, err := openRankFile(fsys, dir, e, rank)
	if err != nil {
		return nil, nil, err
	}
	r, err := e.reader(f, size)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, f, nil
}

// openRankFile opens the file of a rank without checking its content.
func openRankFile(fsys vfs.FS, dir string, e *entry, rank int) (f vfs.File, size int64, err error) {
	name := fileName(dir, e.Slot, rank)
	f, err = fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fault.At(name, -1, "", ErrMissing, "the file of rank %d of checkpoint %d is missing", rank, e.ID)
	}
	if err != nil {
		return nil, 0, err
	}
	if size, err = f.Size(); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// reader makes a Reader of a file that must belong to this checkpoint and rank.
func (e *entry) reader(f vfs.File, size int64) (*ffformat.Reader, error) {
	r, err := ffformat.NewReader(f, size, f.Name(), nil)
	if err != nil {
		return nil, err
	}
	return r, e.match(r.File())
}
