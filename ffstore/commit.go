package ffstore

import (
	"context"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
)

// commit takes the checkpoint of all ranks from files to the record.
func (inc *Incremental) commit(ctx context.Context, err error) (Stats, error) {
	s := inc.s
	fail := func(err error) (Stats, error) {
		inc.giveUp()
		return Stats{}, err
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return fail(err)
	}
	if err := inc.logDigests(ctx); err != nil {
		return fail(err)
	}
	own := slices.Clone(inc.res.Digests.MetaSum[:sumLen])
	sums, err := s.c.Gather(ctx, 0, own)
	if err != nil {
		return fail(err)
	}
	st := inc.res.Stats
	n, err := comm.Allreduce(ctx, s.c, []int64{
		st.Data, st.Written, st.MD5, st.Blocks, st.Dirty, st.Writes, st.Changed, inc.side, inc.size, int64(len(s.order)),
	}, comm.Sum)
	if err != nil {
		return fail(err)
	}
	e := entry{ID: inc.id, Slot: inc.slot, Time: inc.time, Data: n[0], Files: n[8], Vars: n[9], Sums: slices.Concat(sums...), own: own}
	if err := s.replaceRecord(ctx, s.next(e)); err != nil {
		return fail(err)
	}
	s.last, s.base = inc.id, nil
	s.slots[inc.slot] = slot{digests: inc.res.Digests, named: true}
	inc.done, s.busy = true, false
	s.dropSlots()
	return Stats{ffformat.Stats{Data: n[0], Written: n[1], MD5: n[2], Blocks: n[3], Dirty: n[4], Writes: n[5], Changed: n[6]}, n[7]}, nil
}

// logDigests collects the digests on the leader of each node, which appends them. If files of any
// rank of the node are new, their names become durable.
func (inc *Incremental) logDigests(ctx context.Context) error {
	s := inc.s
	own := []byte{0} // whether the name is new, then the record
	if !s.slots[inc.slot].named {
		own[0] = 1
	}
	b, failed := inc.res.Digests.MarshalBinary()
	if failed == nil {
		own = appendRecord(own, rankSlot{s.c.Rank(), inc.slot}, inc.id, 0, b)
	}
	all, err := s.node.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	if s.log != nil && failed == nil {
		unnamed := false
		for i := range all {
			unnamed = unnamed || all[i][0] != 0
			all[i] = all[i][1:]
		}
		if unnamed && s.o.Durability == DurableCommit {
			failed = s.o.FS.SyncDir(slotDir(s.dir, inc.slot))
		}
		if failed == nil {
			rec := s.log.epochs.stamp(all)
			inc.side += int64(len(rec))
			failed = s.log.append(rec)
		}
	}
	return comm.Agree(ctx, s.c, failed)
}

// next is the record with one more checkpoint. Those go that came after the one which the
// memory goes on from, and the oldest that are too many; these are spares as long as they have
// their slot.
func (s *Store) next(e entry) *record {
	rec := s.rec.clone()
	rec.Seq++
	l := append(s.line(), e)
	cut := max(0, len(l)-s.o.Keep)
	rec.Checkpoints = l[cut:]
	rec.Slots = s.o.Keep + 1
	for _, e := range rec.Checkpoints {
		rec.Slots = max(rec.Slots, e.Slot+1)
	}
	taken := map[int]bool{}
	for _, e := range l {
		taken[e.Slot] = true
	}
	rec.Spares = append(slices.DeleteFunc(rec.Spares, func(x entry) bool { return x.ID > s.last || taken[x.Slot] }), l[:cut]...)
	rec.Spares = slices.DeleteFunc(rec.Spares, func(x entry) bool { return x.Slot >= rec.Slots })
	return rec
}

// replaceRecord commits on rank 0, unless somebody else has since we looked, and tells all ranks.
// When it is not known which record is in force, the Store is broken.
func (s *Store) replaceRecord(ctx context.Context, rec *record) error {
	var commit func() error
	if s.c.Rank() == 0 {
		commit = func() error {
			if err := s.unchanged(); err != nil {
				return err
			}
			return rec.commit(s.o.FS, s.dir, s.o.Durability)
		}
	}
	outcome, err := comm.Commit(ctx, s.c, commit)
	switch outcome {
	case comm.Done:
		s.rec = rec
	case comm.InDoubt:
		s.err = pkg.Errorf("%s: whether commit %d is in force is not known, open the store again: %w: %w", s.dir, rec.Seq, ErrBroken, err)
		return s.err
	}
	return err
}

// dropSlots removes this rank's files in slots that are not needed any more, after
// Keep became less. What cannot be removed only takes space.
func (s *Store) dropSlots() {
	n := s.o.Keep + 1
	for _, e := range s.rec.Checkpoints {
		n = max(n, e.Slot+1)
	}
	for k := n; k < len(s.slots); k++ {
		s.o.FS.Remove(FileName(s.dir, k, s.c.Rank())) //nolint:errcheck // see above
		s.o.FS.Remove(slotDir(s.dir, k))              //nolint:errcheck // the last rank succeeds
	}
	s.slots = s.slots[:min(n, len(s.slots))]
}
