package ffstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/durable"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// Finding is something that Check found; Dataset is the checkpoint, and Rank the rank where it was.
type Finding = fault.Finding

// CheckOptions of Check. nil is the default.
type CheckOptions struct {
	FS       vfs.FS // default the operating system's
	Quick    bool   // structure only, data are not read
	Workers  int
	Progress func(done, total int64) // files
}

// Check looks for everything that is wrong with a store: the record, the files of all
// ranks in all kept checkpoints, the side files. It yields the findings of the files
// with their ranks. If a kept checkpoint is damaged, notes tell which of the spares are whole.
func Check(ctx context.Context, dir string, o *CheckOptions) iter.Seq[Finding] {
	var opt CheckOptions
	if o != nil {
		opt = *o
	}
	opt.FS = vfs.OrOS(opt.FS)
	return func(yield func(Finding) bool) {
		say := func(sev ffformat.Severity, e *entry, rank int, err error) bool {
			return yield(placed(ffformat.FindingOf(sev, "", err), e, rank))
		}
		v, err := OpenView(dir, opt.FS)
		if err != nil {
			say(ffformat.Error, nil, -1, err)
			return
		}
		total := int64(len(v.rec.Checkpoints)) * int64(v.rec.Ranks)
		done := int64(0)
		bad := false
		for i := range v.rec.Checkpoints {
			e := &v.rec.Checkpoints[i]
			bytes := int64(0)
			for rank := range v.rec.Ranks {
				if err := ctx.Err(); err != nil {
					say(ffformat.Error, nil, -1, err)
					return
				}
				if opt.Progress != nil {
					opt.Progress(done, total)
				}
				done++
				r, err := openRank(v.fsys, v.dir, e.forRank(rank), rank)
				if err != nil {
					bad = true
					if !say(ffformat.Error, e, rank, err) {
						return
					}
				} else {
					bytes += r.File().Size
					r.Close()
				}
				if !v.checkFile(ctx, e, rank, &ffformat.CheckOptions{Quick: opt.Quick, Workers: opt.Workers}, func(f Finding) bool {
					bad = bad || f.Severity >= ffformat.Error
					return yield(f)
				}) {
					return
				}
			}
			if bytes != e.Files {
				if !say(ffformat.Warning, e, -1, fault.At(filepath.Join(dir, recordName), 0, "bytes", ErrCorrupt, "%d of checkpoint %d, the files have %d", e.Files, e.ID, bytes)) {
					return
				}
			}
		}
		if bad && !v.checkSpares(ctx, &ffformat.CheckOptions{Quick: opt.Quick, Workers: opt.Workers}, say) {
			return
		}
		if v.checkRest(func(sev ffformat.Severity, err error) bool { return say(sev, nil, -1, err) }) {
			v.checkLogs(func(err error) bool { return say(ffformat.Warning, nil, -1, err) })
		}
	}
}

// checkFile tells all that is wrong with one file, as far as it can be opened.
func (v *View) checkFile(ctx context.Context, e *entry, rank int, o *ffformat.CheckOptions, yield func(Finding) bool) bool {
	f, err := v.fsys.Open(FileName(v.dir, e.Slot, rank))
	if err != nil {
		return true // that has been told
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return true
	}
	for x := range ffformat.Check(ctx, f, size, f.Name(), o) {
		if !yield(placed(x, e, rank)) {
			return false
		}
	}
	return true
}

// checkSpares tells which spares Recover can fall back to.
func (v *View) checkSpares(ctx context.Context, o *ffformat.CheckOptions, say func(ffformat.Severity, *entry, int, error) bool) bool {
	for i := range v.rec.Spares {
		e := &v.rec.Spares[i]
		var bad error
		for rank := 0; rank < v.rec.Ranks && bad == nil; rank++ {
			var r *RankReader
			if r, bad = openRank(v.fsys, v.dir, e.forRank(rank), rank); bad != nil {
				break
			}
			r.Close()
			v.checkFile(ctx, e, rank, o, func(f Finding) bool {
				if f.Severity >= ffformat.Error {
					bad = f.AsError()
				}
				return bad == nil
			})
		}
		if ctx.Err() != nil {
			return say(ffformat.Error, nil, -1, ctx.Err())
		}
		is := fault.At(slotDir(v.dir, e.Slot), -1, "", nil, "holds checkpoint %d whole: Recover falls back to it", e.ID)
		if bad != nil {
			is.Msg = fmt.Sprintf("checkpoint %d was here and is not whole any more: %v", e.ID, bad)
		}
		if !say(ffformat.Note, e, -1, is) {
			return false
		}
	}
	return true
}

// checkRest looks at what is there beside the checkpoints.
func (v *View) checkRest(say func(ffformat.Severity, error) bool) bool {
	entries, err := v.fsys.ReadDir(v.dir)
	if err != nil {
		return say(ffformat.Warning, err)
	}
	for _, e := range entries {
		if of, ok := durable.HiddenOf(e.Name()); (ok && of == recordName || durable.IsTemp(e.Name())) && !say(ffformat.Note, fault.At(filepath.Join(v.dir, e.Name()), -1, "", nil, "left by a commit that was cut short, or one is under way")) {
			return false
		}
	}
	slots, err := slotDirs(v.fsys, v.dir)
	if err != nil {
		return say(ffformat.Warning, err)
	}
	for _, k := range slots {
		if k >= v.rec.Slots && !say(ffformat.Note, fault.At(slotDir(v.dir, k), -1, "", nil, "not used any more: the next commit removes it")) {
			return false
		}
	}
	return true
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
		say(fault.At(v.dir, -1, "", ErrMissing, "no side files with digests: the next differential checkpoint will be full"))
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
			if !say(fault.At(name, s.end, "record", ErrTruncated, "the last %d bytes are no record: writing them was cut short, or they are damaged", size-s.end)) {
				return
			}
		}
	}
}

// placed says in which checkpoint, and of which rank, a finding is, if it is in one.
func placed(f Finding, e *entry, rank int) Finding {
	if e != nil {
		f.Dataset = fault.Num(e.ID)
	}
	if rank >= 0 {
		f.Rank = fault.Num(rank)
	}
	return f
}
