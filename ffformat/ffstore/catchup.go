package ffstore

import (
	"context"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/fault"
)

// CatchUp brings the free slot up to date: it copies to it what the newest checkpoint has and the
// slot has not. The next CheckpointDiff then writes what has changed since that checkpoint, and no
// more: without CatchUp the slot is Keep+1 checkpoints behind, and all that has changed since is
// written. The sum of the bytes is not less, but they are written when the program has time. Until the next
// checkpoint the slot holds a second copy of the newest one, which Recover knows.
//
// The memory is neither read nor changed. The copy is made from the files. What is going to be copied is
// verified before the spare that is in the slot is touched, and again on the way; damage is an error
// (ErrChecksum). The kept checkpoints are never written to. After another error, or when ctx ends, the spare
// may be lost, and the next checkpoint is a full one.
//
// Nothing is done, and Stats is zero, where there is nothing to go on from: no checkpoint yet, an
// older one or a spare was recovered and none has been written since, the side files do not say what the
// newest one holds, or the slot is up to date. CatchUp is collective.
func (s *Store) CatchUp(ctx context.Context) (Stats, error) {
	err := s.ledger.broken
	if err == nil && s.busy {
		err = fault.Usage("CatchUp during an incremental checkpoint")
	}
	behind := int64(0)
	if s.behind() {
		behind = 1
	}
	v, err := comm.AgreeMin(ctx, s.c, err, behind)
	if err != nil || v[0] == 0 { // all ranks or none: a copy of some is none
		return Stats{}, err
	}
	newest := s.ledger.committed()[len(s.ledger.committed())-1]
	if err := comm.Agree(ctx, s.c, s.files.within(ctx, func() error { return s.verifyTwin(ctx, &newest) })); err != nil {
		return Stats{}, err
	}
	inc := &Incremental{s: s, id: newest.ID, time: newest.Time}
	if err := inc.takeSlot(ctx); err != nil {
		return Stats{}, err
	}
	err = s.files.within(ctx, func() error { return inc.twin(ctx, &newest) })
	if inc.f != nil {
		inc.f.close() //nolint:errcheck // after an error, the file does not count
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return Stats{}, err
	}
	if err := inc.logDigests(ctx); err != nil {
		return Stats{}, err
	}
	st := inc.res.Stats
	n, err := comm.Allreduce(ctx, s.c, []int64{st.Data, st.Written, st.Blocks, st.Dirty, st.Writes, inc.side}, comm.Sum)
	if err != nil {
		return Stats{}, err
	}
	rec := s.ledger.rec.clone()
	rec.Seq++
	rec.Slots = max(rec.Slots, inc.slot+1)
	rec.Spares = slices.DeleteFunc(rec.Spares, func(e entry) bool { return e.Slot == inc.slot })
	newest.Slot = inc.slot
	rec.Spares = append(rec.Spares, newest)
	if err := s.ledger.replace(ctx, rec); err != nil {
		return Stats{}, err
	}
	s.files.slots[inc.slot] = slot{digests: inc.res.Digests, named: true}
	return Stats{ffformat.Stats{Data: n[0], Written: n[1], Blocks: n[2], Dirty: n[3], Writes: n[4]}, n[5]}, nil
}

// behind says whether CatchUp has anything to do.
func (s *Store) behind() bool {
	l := s.ledger.committed()
	if len(l) == 0 || s.ledger.base != nil || s.ledger.last != l[len(l)-1].ID || s.files.slots[l[len(l)-1].Slot].digests == nil {
		return false
	}
	k := s.ledger.free()
	return !slices.ContainsFunc(s.ledger.rec.Spares, func(e entry) bool { return e.Slot == k && e.ID == s.ledger.last && s.files.slots[k].digests != nil })
}

// verifyTwin reads what twin is going to copy.
func (s *Store) verifyTwin(ctx context.Context, newest *entry) error {
	r, err := openRank(s.o.FS, s.dir, newest, s.c.Rank())
	if err != nil {
		return err
	}
	defer r.Close()
	var have *ffformat.Digests
	if k := s.ledger.free(); k < len(s.files.slots) {
		have = s.files.slots[k].digests
	}
	_, err = s.files.w.Twin(ctx, nil, r.Reader, have, s.files.slots[newest.Slot].digests, false)
	return err
}

// twin makes this rank's file in the slot the same as that of the newest checkpoint, durably.
func (inc *Incremental) twin(ctx context.Context, newest *entry) error {
	s := inc.s
	r, err := openRank(s.o.FS, s.dir, newest, s.c.Rank())
	if err != nil {
		return err
	}
	defer r.Close()
	var have *ffformat.Digests
	var fresh bool
	if inc.f, inc.size, have, fresh, err = s.files.openFile(inc.slot); err != nil {
		return err
	}
	d := s.files.slots[newest.Slot].digests
	s.files.slots[inc.slot].digests = nil // from now on the file changes
	if n := r.File().Size; n > inc.size {
		if err := inc.f.Allocate(inc.size, n-inc.size); err != nil {
			return err
		}
	}
	st, err := s.files.w.Twin(ctx, inc.f, r.Reader, have, d, fresh)
	if err != nil {
		return err
	}
	inc.res = &ffformat.Result{File: r.File(), Digests: d, Stats: st}
	if s.o.Durability != DurableNone {
		if err := inc.f.Sync(); err != nil {
			return err
		}
	}
	return inc.f.close()
}
