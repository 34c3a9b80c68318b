package fti

import (
	"context"
	"errors"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// differential is the state of the differential checkpoints of a level, which alternate between two files.
type differential struct {
	w     *ffformat.Writer
	now   *ffformat.Digests // digests of the committed file
	spare *ffformat.Digests // digests of the file before it, which the next checkpoint updates
}

// pending is a checkpoint that is being written.
type pending struct {
	key
	*files
	diff  *differential // nil: a full checkpoint
	w     *ffformat.Writer
	f     vfs.File // nil: closed
	u     *ffformat.Update
	res   *ffformat.Result
	added map[int32]int64 // number of bytes of each added variable
	err   error           // first error of this rank; Finish then fails on all ranks
}

// Checkpoint is a collective: it writes all variables as checkpoint id. Levels 1 to 4 give a full checkpoint, and 5 to 8 a
// differential one of level 1 to 4. A differential checkpoint is full unless the configuration allows differential ones. When
// Checkpoint returns nil, a restart finds this checkpoint.
func (s *Session) Checkpoint(ctx context.Context, id int32, level int) error {
	if err := s.Begin(ctx, id, level); err != nil {
		return err
	}
	w := s.writes
	bufs, err := s.vars.bufs()
	if err == nil {
		err = w.u.AddAll(ctx, bufs)
	}
	for _, b := range bufs {
		w.added[b.ID] = int64(len(b.Data))
	}
	w.err = err
	return s.Finish(ctx)
}

// Begin is a collective: it begins a checkpoint like Checkpoint, but the caller adds the variables one by one.
func (s *Session) Begin(ctx context.Context, id int32, level int) error {
	err := func() error {
		switch {
		case s.writes != nil:
			return fault.Usage("checkpoint %d cannot begin before the incremental checkpoint ends", id)
		case level == 2*levels+1:
			return fault.Class(fault.ErrUnsupported, "level %d: HDF5 files are not supported, want 1 to %d", level, 2*levels)
		case level < 1 || level > 2*levels:
			return fault.Usage("level %d, want 1 to %d", level, 2*levels)
		case id < 0:
			return fault.Usage("checkpoint %d, want 0 or more", id)
		case s.lease != nil:
			return s.lease.Check()
		}
		return nil
	}()
	diff := level > levels && s.cfg.Diff
	level = (level-1)%levels + 1
	time := int64(0)
	if s.c.Rank() == 0 {
		if len(s.stamps) > 1000 { // out of 65,536; the files of older checkpoints are gone
			s.stamps = stamps{s.last.Stamp: own}
		}
		time = ffformat.OwnTime(s.clock().UnixNano())
		for s.stamps[uint32(time)] > 0 {
			time = ffformat.OwnTime(time + 1)
		}
	}
	v, err := comm.AgreeMin(ctx, s.c, err, int64(id), -int64(id), int64(level), -int64(level), -time)
	if err != nil {
		return err
	}
	if v[0] != -v[1] || v[2] != -v[3] {
		return fault.Usage("ranks ask for checkpoints %d to %d at levels %d to %d, want the same", v[0], -v[1], v[2], -v[3])
	}
	time = -v[4]
	s.stamps[uint32(time)] = own
	if err := s.conclude(ctx, false); err != nil {
		return err
	}
	w := &pending{key: key{level, id, uint32(time)}, files: s.files, added: map[int32]int64{}}
	if diff {
		if s.diffs[level] == nil {
			s.diffs[level] = &differential{}
		}
		w.diff = s.diffs[level]
	}
	err = s.directory(ctx, level)
	if err == nil {
		err = w.start(time, s.cfg.BlockSize)
	}
	err = comm.Agree(ctx, s.c, err)
	if err == nil {
		err = s.redundancy.prepare(ctx, level)
	}
	if err != nil {
		return errors.Join(err, w.giveUp())
	}
	s.writes = w
	return nil
}

// directory makes the directory of a level. It is a collective at level 4, where all ranks use the same directory.
func (s *Session) directory(ctx context.Context, level int) error {
	if level < levels {
		return durable.MkdirAll(s.fs, s.p.level(level), true)
	}
	var err error
	if s.c.Rank() == 0 {
		err = durable.MkdirAll(s.fs, s.p.level(level), true)
	}
	return comm.Agree(ctx, s.c, err)
}

// start opens the file of a checkpoint.
func (w *pending) start(time int64, blockSize int) error {
	o := ffformat.UpdateOptions{CkptID: w.ID, Timestamp: time, Fresh: true}
	name := w.p.partial(w.Level, ckpt)
	if err := durable.Remove(w.fs, name); err != nil {
		return err
	}
	var err error
	if w.diff == nil {
		w.w, err = ffformat.NewWriter(nil)
	} else {
		o.Differential = true
		err = w.reuse(&o, name, blockSize)
	}
	if err != nil {
		return err
	}
	if w.f == nil {
		if w.f, err = w.fs.Create(name); err != nil {
			return err
		}
	}
	w.u, err = w.w.Begin(w.f, o)
	return err
}

// reuse opens the file that a differential checkpoint updates, if it exists and has not changed since this session wrote it.
func (w *pending) reuse(o *ffformat.UpdateOptions, name string, blockSize int) (err error) {
	d := w.diff
	prev := d.spare
	d.spare = nil
	if d.w == nil {
		if d.w, err = ffformat.NewWriter(&ffformat.Options{BlockSize: blockSize}); err != nil {
			return err
		}
	}
	w.w, o.Recent = d.w, d.now
	if prev == nil || w.fs.Rename(w.p.spare(w.Level), name) != nil {
		return nil
	}
	if w.f, err = w.fs.OpenRW(name); err != nil {
		return err
	}
	o.Fresh = false
	size, err := w.f.Size()
	if err != nil {
		return err
	}
	if f, err := ffformat.Decode(w.f, size, name, nil); err == nil && prev.Match(f) == nil {
		o.Prev = prev
	}
	return nil
}

// Add writes one variable of the checkpoint that Begin has begun. It is not a collective. After an error Finish fails on all
// ranks.
func (s *Session) Add(ctx context.Context, id int32) error {
	w := s.writes
	if w == nil {
		return fault.Usage("variable %d is added, but no incremental checkpoint has begun", id)
	}
	if w.err != nil {
		return w.err
	}
	err := func() error {
		x := s.vars.get(id)
		if x == nil {
			return fault.Usage("variable %d is not protected", id)
		}
		if err := x.check(); err != nil {
			return err
		}
		if _, ok := w.added[id]; ok {
			return fault.Usage("variable %d is in checkpoint %d already", id, w.ID)
		}
		w.added[id] = x.size
		return w.u.Add(ctx, id, x.data)
	}()
	w.err = err
	return err
}

// Writing reports whether a checkpoint has begun and not finished.
func (s *Session) Writing() bool { return s.writes != nil }

// Finish is a collective: it commits the checkpoint that Begin has begun. All ranks must have added all their variables.
func (s *Session) Finish(ctx context.Context) error {
	w := s.writes
	if w == nil {
		return fault.Usage("an incremental checkpoint ends, but none has begun")
	}
	s.writes = nil
	err := w.err
	if w.Level == 3 {
		err = w.largest(ctx, s.redundancy.group, s.vars.list)
	}
	if err == nil {
		err = s.names.save()
	}
	if err == nil {
		err = w.complete(ctx, s.vars.list, s.lease)
	}
	err = s.redundancy.encode(ctx, w.key, err)
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return errors.Join(err, w.giveUp())
	}
	// From here on a restart finds the checkpoint.
	if w.diff != nil {
		w.diff.spare, w.diff.now = w.diff.now, w.res.Digests
	}
	s.last.replace(w.key, w.added)
	return s.conclude(ctx, w.diff != nil)
}

// conclude is a collective: it commits the last checkpoint, unless this is done, and notes in the configuration file that the run
// can restart. Until conclude has succeeded no other checkpoint may begin, because a restart prefers files with fresh names.
func (s *Session) conclude(ctx context.Context, spare bool) error {
	if s.last.half {
		if err := s.commit(ctx, s.last.key, spare); err != nil {
			return err
		}
		s.last.half = false
	}
	if s.noted || s.last.Level == 0 {
		return nil
	}
	var err error
	if s.c.Rank() == 0 {
		err = s.config.note(1, s.cfg.ExecID)
	}
	err = comm.Agree(ctx, s.c, err)
	s.noted = err == nil
	return err
}

// largest stores the size of the largest file of the group. FTI needs this size for a restart from level 3.
func (w *pending) largest(ctx context.Context, c comm.Comm, vars []*variable) error {
	var sizes []ffformat.VarSize
	for _, x := range vars {
		sizes = append(sizes, ffformat.VarSize{ID: x.id, Size: w.added[x.id]})
	}
	size, err := w.w.FileSize(sizes)
	if w.err != nil {
		err = w.err
	}
	size, rerr := comm.AllreduceOne(ctx, c, size, comm.Max)
	if err == nil {
		err = rerr
	}
	w.u.SetLargest(size)
	return err
}

// complete finishes the file of this rank, syncs it, and gives it its fresh name.
func (w *pending) complete(ctx context.Context, vars []*variable, lease *durable.Lease) (err error) {
	for _, x := range vars {
		if _, ok := w.added[x.id]; !ok {
			return fault.Usage("variable %d was not added to checkpoint %d", x.id, w.ID)
		}
	}
	if w.res, err = w.u.Finish(ctx); err != nil {
		return err
	}
	w.u = nil
	if err = w.f.Sync(); err != nil {
		return err
	}
	f := w.f
	w.f = nil
	if err = f.Close(); err != nil {
		return err
	}
	if lease != nil {
		if err = lease.Check(); err != nil {
			return err
		}
	}
	return w.ready(w.key)
}

// giveUp removes the files of an uncommitted checkpoint.
func (w *pending) giveUp() error {
	if w.u != nil {
		w.u.Abort()
	}
	if w.res != nil && w.diff != nil {
		w.w.Undo()
	}
	if w.f != nil {
		_ = w.f.Close() // the file is discarded
	}
	errs := []error{durable.Remove(w.fs, w.p.partial(w.Level, ckpt)), durable.Remove(w.fs, w.p.fresh(w.key, ckpt))}
	if w.Level == 2 || w.Level == 3 {
		errs = append(errs, durable.Remove(w.fs, w.p.fresh(w.key, backupOf(w.Level))))
	}
	if w.res != nil { // otherwise the fresh names could reappear after a crash
		errs = append(errs, w.fs.SyncDir(w.p.level(w.Level)))
	}
	return errors.Join(errs...)
}
