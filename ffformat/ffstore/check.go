package ffstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// Check finds all faults of a store: in the record, in the files of all ranks in all kept checkpoints, and in the side files.
// Findings about a file have its rank and checkpoint. If a kept checkpoint is damaged, Check also yields notes that list the
// undamaged spares.
func Check(ctx context.Context, dir string, o *Options) iter.Seq[fault.Finding] {
	return func(yield func(fault.Finding) bool) {
		c := &checking{ctx: ctx, yield: yield}
		if o != nil {
			c.Options = *o
		}
		var err error
		if c.View, err = OpenView(dir, c.FS); err != nil {
			c.say(ffformat.Error, nil, err)
			return
		}
		bad, more := c.checkpoints()
		if more && (!bad || c.spares()) && c.rest() {
			c.sideFiles()
		}
	}
}

// checking is the state of one call of Check. Its methods report whether the caller wants more findings.
type checking struct {
	*View
	Options
	ctx   context.Context
	yield func(fault.Finding) bool
}

// say yields a finding about checkpoint e, or about the store if e is nil.
func (c *checking) say(sev fault.Severity, e *entry, err error) bool {
	return c.yield(placed(findingOf(sev, "", err), e, -1))
}

// checkpoints examines the kept checkpoints. bad reports whether one of them is damaged.
func (c *checking) checkpoints() (bad, more bool) {
	total := int64(len(c.rec.Checkpoints)) * int64(c.rec.Ranks)
	done := int64(0)
	for i := range c.rec.Checkpoints {
		e := &c.rec.Checkpoints[i]
		bytes := int64(0)
		for rank := range c.rec.Ranks {
			if err := c.ctx.Err(); err != nil {
				c.say(ffformat.Error, nil, err)
				return bad, false
			}
			if c.Progress != nil {
				c.Progress(done, total)
			}
			done++
			size, more := c.rank(e, rank, func(f fault.Finding) bool {
				bad = bad || f.Severity >= ffformat.Error
				return c.yield(f)
			})
			if !more {
				return bad, false
			}
			bytes += size
		}
		if bytes != e.Files && !c.say(fault.Warning, e, fault.At(filepath.Join(c.dir, recordName), 0, "bytes", fault.ErrCorrupt, "%d of checkpoint %d, the files have %d", e.Files, e.ID, bytes)) {
			return bad, false
		}
	}
	return bad, true
}

// rank yields all faults of a rank's file, if the file can be opened. It returns the size of the file.
func (c *checking) rank(e *entry, rank int, yield func(fault.Finding) bool) (size int64, more bool) {
	say := func(err error) bool { return yield(placed(fault.Of(fault.Error, "", err), e, rank)) }
	f, n, err := openRankFile(c.fsys, c.dir, e, rank)
	if err != nil {
		return 0, say(err)
	}
	defer f.Close()
	if _, err := e.forRank(rank).reader(f, n); err == nil {
		size = n
	} else if !say(err) {
		return 0, false
	}
	for x := range ffformat.Check(c.ctx, f, n, f.Name(), &ffformat.Options{Quick: c.Quick, Workers: c.Workers}) {
		if !yield(placed(x, e, rank)) {
			return size, false
		}
	}
	return size, true
}

// spares lists the spares that Recover can fall back to.
func (c *checking) spares() bool {
	for i := range c.rec.Spares {
		e := &c.rec.Spares[i]
		var bad error
		for rank := 0; rank < c.rec.Ranks && bad == nil; rank++ {
			c.rank(e, rank, func(f fault.Finding) bool {
				if f.Severity >= ffformat.Error {
					bad = f.AsError()
				}
				return bad == nil
			})
		}
		if c.ctx.Err() != nil {
			return c.say(ffformat.Error, nil, c.ctx.Err())
		}
		is := fault.At(slotDir(c.dir, e.Slot), -1, "", nil, "slot holds the complete checkpoint %d, which Recover can use", e.ID)
		if bad != nil {
			is.Msg = fmt.Sprintf("checkpoint %d in this slot is no longer complete: %v", e.ID, bad)
		}
		if !c.say(fault.Note, e, is) {
			return false
		}
	}
	return true
}

// rest examines the other files of the store.
func (c *checking) rest() bool {
	say := func(sev fault.Severity, err error) bool { return c.say(sev, nil, err) }
	entries, err := c.fsys.ReadDir(c.dir)
	if err != nil {
		return say(fault.Warning, err)
	}
	for _, e := range entries {
		if of, ok := durable.HiddenOf(e.Name()); (ok && of == recordName || durable.IsTemp(e.Name())) && !say(fault.Note, fault.At(filepath.Join(c.dir, e.Name()), -1, "", nil, "file is left from an interrupted commit, or a commit is in progress")) {
			return false
		}
	}
	slots, err := slotDirs(c.fsys, c.dir)
	if err != nil {
		return say(fault.Warning, err)
	}
	for _, k := range slots {
		if k >= c.rec.Slots && !say(fault.Note, fault.At(slotDir(c.dir, k), -1, "", nil, "file is unused; the next commit removes it")) {
			return false
		}
	}
	return true
}

// sideFiles examines the side files. Damage there loses no data; it only makes the next differential checkpoint a full one.
func (c *checking) sideFiles() {
	say := func(err error) bool { return c.say(fault.Warning, nil, err) }
	logs, err := nodeLogs(c.fsys, c.dir)
	if err != nil {
		say(err)
		return
	}
	if len(logs) == 0 {
		say(fault.At(c.dir, -1, "", ErrMissing, "side files with digests are missing, so the next differential checkpoint is full"))
		return
	}
	for _, name := range logs {
		f, err := c.fsys.Open(name)
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
			if !say(fault.At(name, s.end, "record", fault.ErrTruncated, "the last %d bytes are not a record: the write was interrupted, or the bytes are damaged", size-s.end)) {
				return
			}
		}
	}
}

// placed adds the checkpoint and the rank to a finding, if they are known.
func placed(f fault.Finding, e *entry, rank int) fault.Finding {
	if e != nil {
		f.Dataset = fault.Num(e.ID)
	}
	if rank >= 0 {
		f.Rank = fault.Num(rank)
	}
	return f
}

// findingOf converts an error to a Finding. If the error is about a variable, the finding has the variable's id.
func findingOf(sev fault.Severity, file string, err error) fault.Finding {
	f := fault.Of(sev, file, err)
	if ids := ffformat.BadVars(err); len(ids) > 0 {
		f.Var = fault.Num(ids[0])
	}
	return f
}
