package fti

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// redundancy protects the checkpoints of levels 2 and 3 against the loss of nodes, by FTI's files.
type redundancy struct {
	*files
	c              comm.Comm
	nodes          []string // node names by rank
	nodeSize, size int      // number of ranks on a node, number of nodes in a group
	group          comm.Comm
}

// prepare is a collective: it makes the group before a checkpoint of level 2 or 3 needs it.
func (r *redundancy) prepare(ctx context.Context, level int) error {
	if level != 2 && level != 3 || r.group != nil {
		return nil
	}
	group, place, err := groupOf(r.nodes, r.c.Rank(), r.nodeSize, r.size)
	if err != nil {
		return fmt.Errorf("level %d: %w", level, err)
	}
	r.group, err = r.c.Split(ctx, group, place)
	return err
}

// elements are the open files of this rank in a checkpoint of level 2 or 3. A lost or damaged file is nil.
type elements struct {
	share
	file, backup vfs.File
	meta         *ffformat.File // metadata of file
	bare         bool           // some lost backups were not computed
}

// take makes f the checkpoint file.
func (e *elements) take(f *stored) {
	e.file, e.meta, e.File, e.Posix = f.f, f.r.File(), f.r.File().Size, f.posix != nil
	if e.Posix {
		e.File = f.posix.Size
	} else {
		e.Full = max(0, e.meta.FB.MaxFs)
	}
}

func (e *elements) close() {
	for _, f := range []vfs.File{e.file, e.backup} {
		if f != nil {
			_ = f.Close() // the file was only read
		}
	}
}

// encode is a collective of the group: it protects the files of a new checkpoint, which have their fresh names. err is this rank's
// error so far. If a member has an error, the checkpoint stays unprotected and encode returns only the own error.
func (r *redundancy) encode(ctx context.Context, k key, err error) error {
	if k.Level != 2 && k.Level != 3 {
		return err
	}
	e := &elements{share: share{Rank: r.p.rank, File: -1, Backup: -1, Failed: true}}
	defer e.close()
	if err == nil {
		var f *stored
		if f, err = r.open(ctx, r.p.fresh(k, ckpt)); err == nil {
			e.take(f)
			e.Failed = false
		}
	}
	return errors.Join(err, r.mend(ctx, k, e))
}

// rebuild is a collective: it rebuilds lost and damaged files of a checkpoint. A rebuilt file has its fresh name, in FTI's POSIX
// mode its final name. If bare is true, another rebuild must compute backups from the rebuilt files.
func (r *redundancy) rebuild(ctx context.Context, k key) (bare bool, err error) {
	err = durable.MkdirAll(r.fs, r.p.level(k.Level), true)
	if err := comm.Agree(ctx, r.c, err); err != nil {
		return false, err
	}
	if err := r.prepare(ctx, k.Level); err != nil {
		return false, err
	}
	e := r.find(ctx, k)
	defer e.close()
	err = r.mend(ctx, k, e)
	left := int64(0)
	if e.bare {
		left = -1
	}
	v, err := comm.AgreeMin(ctx, r.c, err, left)
	return err == nil && v[0] < 0, err
}

// find opens the sound files of this rank.
func (r *redundancy) find(ctx context.Context, k key) *elements {
	e := &elements{share: share{Rank: r.p.rank, File: -1, Backup: -1}}
	for _, name := range []string{r.p.fresh(k, ckpt), r.p.final(k, ckpt)} {
		f, err := r.open(ctx, name)
		if err == nil {
			if err = r.verify(ctx, f, k.Stamp); err == nil {
				e.take(f)
				break
			}
			f.close()
		}
		e.miss(err)
	}
	if e.Posix && k.Level == 3 { // the size is in FTI's metadata
		if p, err := ffformat.FindPosix(r.p.final(k, backupOf(k.Level))); err == nil && p != nil {
			e.Full = p.Size
		}
	}
	for _, name := range []string{r.p.fresh(k, backupOf(k.Level)), r.p.final(k, backupOf(k.Level))} {
		err := e.openBackup(ctx, r.files, name, k)
		if err == nil {
			break
		}
		e.miss(err)
	}
	return e
}

// miss keeps the reason why a file cannot be used, unless it does not exist.
func (s *share) miss(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.Why = append(s.Why, err.Error())
	}
}

// openBackup opens and verifies a copy or parity file.
func (e *elements) openBackup(ctx context.Context, s *files, name string, k key) error {
	if k.Level == 2 {
		c, err := s.open(ctx, name)
		if err != nil {
			return err
		}
		n, err := c.f.Size()
		if err == nil {
			err = s.verify(ctx, c, k.Stamp)
		}
		if err != nil {
			c.close()
			return err
		}
		e.backup, e.Backup, e.Posix = c.f, n, e.Posix || c.posix != nil
		return nil
	}
	f, err := s.fs.Open(name)
	if err != nil {
		return err
	}
	n, posix, err := s.parity(ctx, f, name, k.Stamp)
	if err != nil {
		_ = f.Close() // the file was only read
		return err
	}
	e.backup, e.Backup, e.Full, e.Posix = f, n, n, e.Posix || posix
	return nil
}

// parity verifies a parity file. It returns the number of its parity bytes, and whether it is a file of FTI's POSIX mode.
func (s *files) parity(ctx context.Context, f vfs.File, name string, stamp uint32) (n int64, posix bool, err error) {
	size, err := f.Size()
	if err != nil {
		return 0, false, err
	}
	var list []ffformat.Finding
	d, err := ffformat.Decode(f, size, name, nil)
	switch {
	case err == nil && !d.Parity:
		return 0, false, fault.At(name, -1, "", fault.ErrCorrupt, "a checkpoint file, want a parity file")
	case err == nil && !s.stamps.fit(stampOf(d), stamp):
		return 0, false, fault.At(name, -1, "timestamp", fault.ErrCorrupt, "%#x, want %#x", stampOf(d), stamp)
	case err == nil:
		n, list = d.FB.FileSize, slices.Collect(ffformat.Check(ctx, f, size, name, nil))
	case s.fs == vfs.OS && stamp == 0:
		p, perr := ffformat.FindPosix(name)
		if perr != nil || p == nil {
			return 0, false, errors.Join(err, perr)
		}
		n, posix = p.Size, true
		list, err = p.Check(ctx, f, size, name, false)
	}
	for _, x := range list {
		if x.Severity >= ffformat.Error && err == nil {
			err = x.AsError()
		}
	}
	return n, posix, err
}

// mend is a collective of the group: it computes the lost files of a checkpoint from the others.
func (r *redundancy) mend(ctx context.Context, k key, e *elements) error {
	b, err := json.Marshal(e.share)
	if err != nil {
		return err
	}
	parts, err := r.group.Allgather(ctx, b)
	if err != nil {
		return err
	}
	all, posix := make([]share, len(parts)), false
	for i, b := range parts {
		if err := json.Unmarshal(b, &all[i]); err != nil {
			return err
		}
		if all[i].Failed {
			return nil
		}
		posix = posix || all[i].Posix
	}
	tasks, err := plan(k.Level, all)
	if err != nil {
		for _, s := range all {
			for _, why := range s.Why {
				err = fmt.Errorf("%w; rank %d: %s", err, s.Rank, why)
			}
		}
		return err
	}
	if posix && k.Level == 3 && len(tasks) > 0 && tasks[0].n%2 == 1 && !tasks[0].to.backup {
		// FTI wrote only half of the last parity word, so the last bytes of lost files are known only after the exchange.
		n := len(tasks)
		tasks = slices.DeleteFunc(tasks, func(j task) bool { return j.to.backup })
		e.bare = len(tasks) < n
	}
	m := &mended{redundancy: r, key: k, elements: e, posix: posix}
	defer m.discard()
	x := &exchange{c: r.group, tasks: tasks, sources: map[element]io.ReaderAt{}, sinks: map[element]sink{}}
	me := r.group.Rank()
	if e.file != nil && len(tasks) > 0 {
		x.sources[element{me, false}] = e.file
		if k.Level == 3 {
			x.sources[element{me, false}] = &extended{e.file, e.File, tasks[0].n, !posix}
		}
	}
	if e.backup != nil {
		x.sources[element{me, true}] = e.backup
	}
	for _, j := range tasks {
		if j.to.member == me && x.err == nil {
			x.sinks[j.to], x.err = m.create(j)
		}
	}
	if err := x.run(ctx); err != nil {
		return err
	}
	if x.err != nil {
		return fmt.Errorf("copies and parity of %v: %w", k, x.err)
	}
	if x.torn {
		return nil
	}
	return m.finish(ctx)
}
