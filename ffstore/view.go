package ffstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/vfs"
)

type fileOpener interface {
	Open(name string) (vfs.File, error)
}

// View reads a store without ranks: for tools, and for restarts on another number of them.
type View struct {
	fsys vfs.FS
	dir  string
	rec  *record
}

// OpenView opens a store for reading. A directory without a commit record is
// ErrNotCommitted if it has slots, else ErrNotFormat. fsys nil is the operating system's.
func OpenView(dir string, fsys vfs.FS) (*View, error) {
	if fsys == nil {
		fsys = vfs.OS
	}
	rec, err := readRecord(fsys, dir)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		if _, err := fsys.ReadDir(dir); err != nil {
			return nil, err
		}
		if _, err := fsys.Stat(slotDir(dir, 0)); err == nil {
			return nil, formatErr(filepath.Join(dir, recordName), -1, "", ErrNotCommitted, "no checkpoint was ever committed")
		}
		return nil, formatErr(dir, -1, "", ErrNotFormat, "no store of checkpoints: there is no file %q", recordName)
	}
	return &View{fsys, dir, rec}, nil
}

// IsStore says whether a directory looks like a store.
func IsStore(dir string, fsys vfs.FS) bool {
	if fsys == nil {
		fsys = vfs.OS
	}
	for _, name := range []string{filepath.Join(dir, recordName), slotDir(dir, 0)} {
		if _, err := fsys.Stat(name); err == nil {
			return true
		}
	}
	return false
}

// List are the committed checkpoints, oldest first.
func (v *View) List() []Info {
	return (&Store{rec: v.rec}).List()
}

// Ranks is how many ranks wrote the store.
func (v *View) Ranks() int { return v.rec.Ranks }

// Slots is how many slots there are.
func (v *View) Slots() int { return v.rec.Slots }

// Layout of the files.
func (v *View) Layout() ffformat.Layout { return layoutByName[v.rec.Layout] }

// Fast says that the files have hashes that FTI refuses.
func (v *View) Fast() bool { return v.rec.Hash == "fast" }

// Reader opens the file of a rank in a checkpoint.
func (v *View) Reader(id int32, rank int) (*RankReader, error) {
	e, err := (&Store{rec: v.rec, dir: v.dir}).entry(id)
	if err != nil {
		return nil, err
	}
	if rank < 0 || rank >= v.rec.Ranks {
		return nil, usageErr("rank %d of %d", rank, v.rec.Ranks)
	}
	return openRank(v.fsys, v.dir, e, rank)
}

// Export copies a checkpoint to files with the names that FTI looks for,
// Ckpt<id>-Rank<rank>.fti, in an existing directory. Each is verified on the way, and
// appears whole or not at all; one that is there is ErrExist.
func (v *View) Export(ctx context.Context, id int32, dir string) error {
	for rank := range v.rec.Ranks {
		if err := v.exportRank(ctx, id, rank, filepath.Join(dir, fmt.Sprintf("Ckpt%d-Rank%d.fti", id, rank))); err != nil {
			return err
		}
	}
	return vfs.SyncParent(v.fsys, filepath.Join(dir, "x"))
}

func (v *View) exportRank(ctx context.Context, id int32, rank int, name string) (err error) {
	if _, err := v.fsys.Stat(name); err == nil {
		return fmt.Errorf("ffstore: %s: %w", name, fs.ErrExist)
	}
	r, err := v.Reader(id, rank)
	if err != nil {
		return err
	}
	defer r.Close()
	for f := range ffformat.Check(ctx, r.Source(), r.File().Size, r.File().Name, nil) {
		if f.Severity == ffformat.Error {
			return f.AsError()
		}
	}
	part := name + ".partial"
	if err := v.fsys.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dst, err := v.fsys.Create(part)
	if err != nil {
		return err
	}
	defer func() {
		if dst != nil {
			err = errors.Join(err, dst.Close(), v.fsys.Remove(part))
		}
	}()
	buf := make([]byte, 1<<20)
	for off := int64(0); off < r.File().Size; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Source().ReadAt(buf[:min(int64(len(buf)), r.File().Size-off)], off)
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return err
		}
		if _, err := dst.WriteAt(buf[:n], off); err != nil {
			return err
		}
	}
	if err := dst.Sync(); err != nil {
		return err
	}
	err = dst.Close()
	dst = nil
	if err != nil {
		return err
	}
	return v.fsys.Rename(part, name)
}

// Finding is something that Check found; as in ffformat, with the checkpoint and
// rank where it was.
type Finding struct {
	ffformat.Finding
	CkptID int32 `json:"ckpt,omitempty"`
	Rank   int   `json:"rank"`
}

// CheckOptions of Check. nil is the default.
type CheckOptions struct {
	FS       vfs.FS // default the operating system's
	Quick    bool   // structure only, data are not read
	Workers  int
	Progress func(done, total int64) // files
}

// Check looks for everything that is wrong with a store: the record, the files of all
// ranks in all committed checkpoints, the side files. It yields the findings of the files
// with their ranks.
func Check(ctx context.Context, dir string, o *CheckOptions) iter.Seq[Finding] {
	var opt CheckOptions
	if o != nil {
		opt = *o
	}
	if opt.FS == nil {
		opt.FS = vfs.OS
	}
	return func(yield func(Finding) bool) {
		say := func(sev ffformat.Severity, e *entry, rank int, err error) bool {
			f := Finding{Finding: ffformat.FindingOf(sev, err), Rank: rank}
			if e != nil {
				f.CkptID = e.ID
			}
			return yield(f)
		}
		v, err := OpenView(dir, opt.FS)
		if err != nil {
			say(ffformat.Error, nil, -1, err)
			return
		}
		total := int64(len(v.rec.Checkpoints)) * int64(v.rec.Ranks)
		done := int64(0)
		for i := range v.rec.Checkpoints {
			e := &v.rec.Checkpoints[i]
			bytes := int64(0)
			for rank := range v.rec.Ranks {
				if err := ctx.Err(); err != nil {
					return
				}
				if opt.Progress != nil {
					opt.Progress(done, total)
				}
				done++
				r, err := v.Reader(e.ID, rank)
				if err != nil {
					if !say(ffformat.Error, e, rank, err) {
						return
					}
					continue
				}
				bytes += r.File().Size
				for f := range ffformat.Check(ctx, r.Source(), r.File().Size, r.File().Name, &ffformat.CheckOptions{Quick: opt.Quick, Workers: opt.Workers}) {
					if !yield(Finding{f, e.ID, rank}) {
						r.Close()
						return
					}
				}
				r.Close()
			}
			if bytes != e.Files {
				if !say(ffformat.Warning, e, -1, formatErr(filepath.Join(dir, recordName), 0, "bytes", ErrCorrupt, "%d of checkpoint %d, the files have %d", e.Files, e.ID, bytes)) {
					return
				}
			}
		}
		v.checkLogs(func(err error) bool { return say(ffformat.Warning, nil, -1, err) })
	}
}

// checkLogs looks at the side files. Without them the next differential checkpoint is
// full, and nothing is lost.
func (v *View) checkLogs(say func(error) bool) {
	logs, err := nodeLogs(v.fsys, v.dir)
	if err != nil {
		say(err)
		return
	}
	if len(logs) == 0 {
		say(formatErr(v.dir, -1, "", ErrMissing, "no side files with digests: the next differential checkpoint will be full"))
		return
	}
	for _, name := range logs {
		f, err := v.fsys.Open(name)
		if err != nil {
			if !say(err) {
				return
			}
			continue
		}
		s, err := scanLog(f)
		size, serr := f.Size()
		f.Close()
		if err = errors.Join(err, serr); err != nil && !say(err) {
			return
		}
		if err == nil && s.end < size {
			if !say(formatErr(name, s.end, "record", ErrTruncated, "the last %d bytes are no record: writing them was cut short, or they are damaged", size-s.end)) {
				return
			}
		}
	}
}

// MarshalJSON gives the fields of the finding of the file, then ckpt and rank.
func (f Finding) MarshalJSON() ([]byte, error) {
	b, err := f.Finding.MarshalJSON()
	if err != nil || len(b) < 2 {
		return b, err
	}
	return fmt.Appendf(b[:len(b)-1], `,"ckpt":%d,"rank":%d}`, f.CkptID, f.Rank), nil
}
