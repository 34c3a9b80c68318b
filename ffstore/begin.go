package ffstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
)

// prepare agrees on what is going to be written, and notes durably that the slot is no
// longer what its digests say, before anything is written to it.
func (s *Store) prepare(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc := &Incremental{s: s, id: id, diff: diff}
	err := s.err
	switch {
	case err != nil:
	case s.busy:
		err = usageErr("checkpoint %d during an incremental one", id)
	case id < 1:
		err = usageErr("checkpoint id %d, want at least 1", id)
	case id <= s.last:
		err = usageErr("checkpoint id %d, want more than %d, the last one", id, s.last)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return nil, err
	}
	v := []int64{int64(id), -int64(id), 0}
	if s.c.Rank() == 0 {
		v[2] = s.o.Clock().UnixNano()
		for _, e := range s.newestFirst() { // so that no two of a store have the same
			v[2] = max(v[2], e.Time+1)
		}
		v[2] = ffformat.OwnTime(v[2])
	}
	agreed, err := comm.Allreduce(ctx, s.c, v, comm.Max)
	if err != nil {
		return nil, err
	}
	if agreed[0] != -agreed[1] {
		return nil, usageErr("ranks ask for checkpoints %d to %d, want the same", -agreed[1], agreed[0])
	}
	inc.time = agreed[2]
	return inc, inc.takeSlot(ctx)
}

// takeSlot takes the free slot for itself, and notes durably that it is about to be written.
func (inc *Incremental) takeSlot(ctx context.Context) error {
	s := inc.s
	inc.slot = s.free()
	for inc.slot >= len(s.slots) {
		s.slots = append(s.slots, slot{})
	}
	var err error
	if s.c.Rank() == 0 {
		err = s.claim()
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if s.rec == nil {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	if s.c.Rank() == 0 {
		err = s.makeSlot(inc.slot)
	}
	return inc.writeMark(ctx, err)
}

// agree is comm.Agree, and keeps an error after which the Store cannot go on.
func (s *Store) agree(ctx context.Context, err error) error {
	err = comm.Agree(ctx, s.c, err)
	if errors.Is(err, ErrBroken) {
		s.err = err
	}
	return err
}

// free is the slot that the next checkpoint goes to: the lowest that holds none that is
// kept. After a spare was recovered, that one is held, and not those which were found damaged: so
// the only whole checkpoint is never written over. All ranks find the same.
func (s *Store) free() int {
	held := s.committed()
	if s.base != nil {
		held = s.line()
	}
	for k := 0; ; k++ {
		if !slices.ContainsFunc(held, func(e entry) bool { return e.Slot == k }) {
			return k
		}
	}
}

// begin writes a record without checkpoints, before there is anything else. So a store that
// has lost its record is not taken for a new one.
func (s *Store) begin(ctx context.Context) error {
	rec := &record{
		SealHead: records.Head(1), Ranks: s.c.Size(), Layout: s.o.Layout.String(), Hash: hashName(s.o.Hash), Slots: s.o.Keep + 1,
	}
	return s.replaceRecord(ctx, rec)
}

// claim makes sure on rank 0 that nobody else writes to the directory, nor has.
func (s *Store) claim() (err error) {
	if s.lock == nil {
		if s.lock, err = lock(s.o.FS, s.dir); err != nil {
			return err
		}
	}
	return s.unchanged()
}

// unchanged compares the record with what this Store knows of it.
func (s *Store) unchanged() error {
	now, err := readRecord(s.o.FS, s.dir)
	if err != nil {
		return err
	}
	var a, b int64
	if now != nil {
		a = now.Seq
	}
	if s.rec != nil {
		b = s.rec.Seq
	}
	if a != b {
		return pkg.Errorf("%s: commit %d is there, this Store knows %d: somebody else writes to it, open it again: %w: %w", s.dir, a, b, ErrBroken, ErrInUse)
	}
	return nil
}

// makeSlot makes the directory of a slot.
func (s *Store) makeSlot(k int) error {
	err := s.o.FS.Mkdir(slotDir(s.dir, k))
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Also if it was there: who made it may have died before this.
	if err == nil && (made || !s.slots[k].named) && s.o.Durability == DurableCommit {
		err = s.o.FS.SyncDir(s.dir)
	}
	return err
}

// writeMark notes the slot in the side files. The first time each is written anew,
// with what still counts for the ranks that are on the node now, and those of other
// nodes of an earlier run are removed: what they say will not be true any more.
func (inc *Incremental) writeMark(ctx context.Context, err error) error {
	s := inc.s
	if s.adopted {
		if s.log != nil && err == nil {
			if err = s.log.tidy(); err == nil {
				err = s.log.mark(inc.slot)
			}
			inc.side = logFront
		}
		return comm.Agree(ctx, s.c, err)
	}
	var own []byte
	failed := err
	for k := range s.slots {
		if d := s.slots[k].digests; d != nil && k != inc.slot {
			b, err := d.MarshalBinary()
			failed = errors.Join(failed, err)
			own = appendRecord(own, rankSlot{s.c.Rank(), k}, d.CkptID, 0, b)
		}
	}
	all, err := s.node.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	if s.log != nil && failed == nil {
		s.log.epochs[inc.slot]++
		b := s.log.epochs.stamp(all)
		inc.side = logFront + int64(len(b))
		failed = s.log.rewrite(b)
	}
	if err := comm.Agree(ctx, s.c, failed); err != nil {
		return err
	}
	if err := s.removeOtherLogs(ctx); err != nil {
		return err
	}
	s.adopted = true
	return nil
}

// removeOtherLogs removes the side files that no node of this run writes, for good.
func (s *Store) removeOtherLogs(ctx context.Context) error {
	var name []byte
	if s.log != nil {
		name = []byte(s.log.name)
	}
	names, err := s.c.Gather(ctx, 0, name)
	if err != nil {
		return err
	}
	var failed error
	if s.c.Rank() == 0 {
		ours := map[string]bool{}
		for _, n := range names {
			ours[string(n)] = true
		}
		var logs map[int]string
		logs, failed = nodeLogs(s.o.FS, s.dir)
		removed := false
		for _, n := range logs {
			if !ours[n] && failed == nil {
				failed = s.o.FS.Remove(n)
				removed = true
			}
		}
		if failed == nil && removed && s.o.Durability != DurableNone {
			failed = s.o.FS.SyncDir(s.dir)
		}
	}
	return comm.Agree(ctx, s.c, failed)
}

// openFile opens the file of this rank, or makes it. prev are the digests of what it holds, if that
// is known.
func (inc *Incremental) openFile() (prev *ffformat.Digests, fresh bool, err error) {
	s := inc.s
	k := &s.slots[inc.slot]
	prev = k.digests
	f := &handle{name: FileName(s.dir, inc.slot, s.c.Rank())}
	if f.File, err = s.o.FS.OpenRW(f.name); errors.Is(err, fs.ErrNotExist) {
		f.File, err = s.o.FS.Create(f.name)
		fresh, k.named = true, false // also if it was there once
		if errors.Is(err, fs.ErrNotExist) {
			err = pkg.Errorf("rank %d does not see the directory that rank 0 has made, %s: all ranks must see the directory of a store: %w", s.c.Rank(), slotDir(s.dir, inc.slot), err)
		}
	}
	if err != nil {
		return nil, false, err
	}
	f.open, inc.f = true, f
	if inc.size, err = f.Size(); err != nil {
		return nil, false, err
	}
	if prev != nil { // that it is still the file which we left is not taken for granted
		if file, err := ffformat.Decode(f, inc.size, f.name, nil); err != nil || prev.Match(file) != nil {
			prev = nil
		}
	}
	return prev, fresh, nil
}

// open opens the file of this rank and begins the update.
func (inc *Incremental) open() (err error) {
	s := inc.s
	o := ffformat.UpdateOptions{CkptID: inc.id, Timestamp: inc.time, Differential: inc.diff}
	if o.Prev, o.Fresh, err = inc.openFile(); err != nil {
		return err
	}
	if !inc.diff {
		o.Prev = nil
	}
	for _, e := range s.line() {
		o.Recent = s.slots[e.Slot].digests // in the end, of the last
	}
	for _, id := range s.order {
		o.Vars = append(o.Vars, ffformat.VarSize{ID: id, Size: int64(len(s.data[id]))})
	}
	// So that a full disk shows before anything of the slot is lost, and blocks lie together.
	want, err := s.w.FileSize(o.Vars)
	if err == nil && want > inc.size {
		err = inc.f.Allocate(inc.size, want-inc.size)
	}
	if err == nil {
		inc.u, err = s.w.Begin(inc.f, o)
	}
	if err == nil {
		s.slots[inc.slot].digests = nil // from now on the file changes
	}
	return err
}
