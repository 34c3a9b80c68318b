package ffstore

import (
	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"context"
	"slices"
)

// Checkpoint writes all protected variables of all ranks as checkpoint id, which must be higher than the newest id. After Recover
// or RecoverID, id must be higher than the recovered id, and the new checkpoint replaces all checkpoints newer than the recovered
// one. When Checkpoint returns nil, the checkpoint is committed on all ranks. After an error, readers see the same checkpoints as
// before. The Stats are sums over all ranks.
func (s *Store) Checkpoint(ctx context.Context, id int32) (ffformat.Stats, error) {
	return s.whole(ctx, id, false)
}

// CheckpointDiff does the same as Checkpoint, but writes only data that the slot does not hold already. If the slot's content is
// unknown (the first time, or after the loss of a side file), it writes everything.
func (s *Store) CheckpointDiff(ctx context.Context, id int32) (ffformat.Stats, error) {
	return s.whole(ctx, id, true)
}

func (s *Store) whole(ctx context.Context, id int32, diff bool) (ffformat.Stats, error) {
	inc, err := s.prepare(ctx, id, diff)
	if err != nil {
		return ffformat.Stats{}, err
	}
	vars := s.vars()
	return inc.commit(ctx, s.files.within(ctx, func() error { // one call of within for all of it, because within bounds the number of open files
		if err := inc.open(); err != nil {
			return err
		}
		if err := inc.u.AddAll(ctx, vars); err != nil {
			return err
		}
		return inc.finish(ctx)
	}))
}

// Incremental is a checkpoint to which the program adds variables one by one, when they are ready.
type Incremental struct {
	s    *Store
	id   int32
	diff bool
	slot int
	time int64
	f    vfs.File // nil: closed
	u    *ffformat.Update
	res  *ffformat.Result
	size int64 // size of the file at open, later its final size; in layout B the file can end before its last containers
	done bool
}

// prepare agrees on the checkpoint to write. It durably records that the slot's digests are invalid, before anything is written
// to the slot.
func (s *Store) prepare(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc := &Incremental{s: s, id: id, diff: diff}
	err := s.ledger.broken
	switch {
	case err != nil:
	case s.busy:
		err = fault.Usage("checkpoint %d cannot begin before the incremental checkpoint ends", id)
	case id < 1:
		err = fault.Usage("checkpoint id %d, want at least 1", id)
	case id <= s.ledger.last:
		err = fault.Usage("checkpoint id %d, want more than %d, the last one", id, s.ledger.last)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return nil, err
	}
	v := []int64{int64(id), -int64(id), 0}
	if s.c.Rank() == 0 {
		v[2] = s.o.Clock().UnixNano()
		for _, e := range s.ledger.rec.newestFirst() { // no two checkpoints of a store may have the same time
			v[2] = max(v[2], e.Time+1)
		}
		v[2] = ffformat.OwnTime(v[2])
	}
	agreed, err := comm.Allreduce(ctx, s.c, v, comm.Max)
	if err != nil {
		return nil, err
	}
	if agreed[0] != -agreed[1] {
		return nil, fault.Usage("checkpoint ids of ranks differ (%d to %d), want the same", -agreed[1], agreed[0])
	}
	inc.time = agreed[2]
	return inc, inc.takeSlot(ctx)
}

// takeSlot takes the free slot and durably records that it is about to be written. It is collective.
func (inc *Incremental) takeSlot(ctx context.Context) error {
	s := inc.s
	inc.slot = s.ledger.free()
	s.files.grow(inc.slot + 1)
	var err error
	if s.c.Rank() == 0 {
		err = s.ledger.claim(ctx)
	}
	if err := s.ledger.agree(ctx, err); err != nil {
		return err
	}
	if s.ledger.rec == nil {
		// Write an empty record before any other file. A store that has lost its record can then be distinguished from a new
		// store.
		rec := &record{
			SealHead: records.Head(1), Ranks: s.c.Size(), Layout: s.o.Layout.String(), Hash: hashName(s.o.Hash), Slots: s.o.Keep + 1,
		}
		if err := s.ledger.replace(ctx, rec); err != nil {
			return err
		}
	}
	if s.c.Rank() == 0 {
		if err = s.ledger.lease.settle(inc.slot); err == nil {
			err = s.files.makeSlot(inc.slot)
		}
	}
	return s.logs.mark(ctx, inc.slot, s.files.slots, err)
}

// open opens the file of this rank and begins the update.
func (inc *Incremental) open() (err error) {
	s := inc.s
	o := ffformat.UpdateOptions{CkptID: inc.id, Timestamp: inc.time, Differential: inc.diff}
	if inc.f, inc.size, o.Prev, o.Fresh, err = s.files.openFile(inc.slot); err != nil {
		return err
	}
	if !inc.diff {
		o.Prev = nil
	}
	for _, e := range s.ledger.line() {
		o.Recent = s.files.slots[e.Slot].digests // if several entries have this slot, the last one is used
	}
	for _, id := range s.order {
		o.Vars = append(o.Vars, ffformat.VarSize{ID: id, Size: int64(len(s.data[id]))})
	}
	// Reserve the space first. A full disk is then reported before any data of the slot are overwritten, and the file is less
	// fragmented.
	want, err := s.files.w.FileSize(o.Vars)
	if err == nil && want > inc.size {
		err = inc.f.Allocate(inc.size, want-inc.size)
	}
	if err == nil {
		inc.u, err = s.files.w.Begin(inc.f, o)
	}
	if err == nil {
		s.files.slots[inc.slot].digests = nil // the file is changed from here on
	}
	return err
}

// finish writes the metadata and makes the file durable.
func (inc *Incremental) finish(ctx context.Context) (err error) {
	if inc.res, err = inc.u.Finish(ctx); err != nil {
		return err
	}
	if inc.s.o.Durability == DurableCommit {
		if err := inc.f.Sync(); err != nil {
			return err
		}
	}
	if inc.size, err = inc.f.Size(); err != nil {
		return err
	}
	f := inc.f
	inc.f = nil
	return f.Close()
}

// commit adds the checkpoint of all ranks to the record. err is this rank's error so far.
func (inc *Incremental) commit(ctx context.Context, err error) (ffformat.Stats, error) {
	s := inc.s
	fail := func(err error) (ffformat.Stats, error) {
		inc.giveUp()
		return ffformat.Stats{}, err
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return fail(err)
	}
	if err := s.logs.add(ctx, inc.slot, inc.id, inc.res.Digests, s.files.slots[inc.slot].named); err != nil { // the side files now have the digests of the files in the slot
		return fail(err)
	}
	own := slices.Clone(inc.res.Digests.MetaSum[:sumLen])
	sums, err := s.c.Gather(ctx, 0, own)
	if err != nil {
		return fail(err)
	}
	st := inc.res.Stats
	n, err := comm.Allreduce(ctx, s.c, []int64{st.Data, st.Written, st.MD5, st.Blocks, st.Dirty, inc.size, int64(len(s.order))}, comm.Sum)
	if err != nil {
		return fail(err)
	}
	e := entry{ID: inc.id, Slot: inc.slot, Time: inc.time, Data: n[0], Files: n[5], Vars: n[6], Sums: slices.Concat(sums...), own: own}
	if err := s.ledger.replace(ctx, s.ledger.next(e, s.o.Keep)); err != nil {
		return fail(err)
	}
	s.ledger.last, s.ledger.base = inc.id, nil
	s.files.slots[inc.slot] = slot{digests: inc.res.Digests, named: true}
	inc.done, s.busy = true, false
	s.files.drop(s.ledger.rec.slotsWith(s.o.Keep))
	return ffformat.Stats{Data: n[0], Written: n[1], MD5: n[2], Blocks: n[3], Dirty: n[4]}, nil
}

// giveUp restores the Writer.
func (inc *Incremental) giveUp() {
	inc.done, inc.s.busy = true, false
	if inc.u != nil {
		inc.u.Abort()
	}
	if inc.res != nil {
		inc.s.files.w.Undo()
	}
	if inc.f != nil {
		inc.f.Close() //nolint:errcheck // the file is discarded
	}
}

// Begin starts an incremental checkpoint. The caller must end it by Commit or Abort, which are collective. Add is not collective.
func (s *Store) Begin(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc, err := s.prepare(ctx, id, diff)
	if err != nil {
		return nil, err
	}
	err = s.files.within(ctx, inc.open)
	if err := comm.Agree(ctx, s.c, err); err != nil {
		inc.giveUp()
		return nil, err
	}
	s.busy = true
	return inc, nil
}

// Add writes a protected variable. The program must not change the variable until Add returns. Each variable must be added once,
// in any order. If Add fails on a rank, Commit fails on all ranks.
func (inc *Incremental) Add(ctx context.Context, id int32) error {
	data, ok := inc.s.data[id]
	switch {
	case inc.done:
		return fault.Usage("variable %d was added after the end of checkpoint %d", id, inc.id)
	case !ok:
		return fault.Usage("variable %d is not protected", id)
	}
	return inc.s.files.within(ctx, func() error { return inc.u.Add(ctx, id, data) })
}

// Commit ends the checkpoint. If any rank has not added all its protected variables, Commit fails on all ranks, and readers see
// the same checkpoints as before.
func (inc *Incremental) Commit(ctx context.Context) (ffformat.Stats, error) {
	if inc.done {
		return ffformat.Stats{}, fault.Usage("checkpoint %d was committed after its end", inc.id)
	}
	return inc.commit(ctx, inc.s.files.within(ctx, func() error { return inc.finish(ctx) }))
}

// Abort discards the checkpoint.
func (inc *Incremental) Abort(ctx context.Context) error {
	if inc.done {
		return nil
	}
	inc.giveUp()
	return comm.Agree(ctx, inc.s.c, nil)
}
