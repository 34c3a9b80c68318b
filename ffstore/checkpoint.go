package ffstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// Stats is what one checkpoint did, summed over all ranks.
type Stats struct {
	ffformat.Stats
	SideData int64 // bytes appended to the side files of the nodes
}

// Checkpoint writes all protected variables of all ranks as checkpoint id, which must be
// higher than any before. When it returns nil it is committed, on all ranks; after an error
// nothing has changed for a reader.
func (s *Store) Checkpoint(ctx context.Context, id int32) (Stats, error) {
	return s.whole(ctx, id, false)
}

// CheckpointDiff is Checkpoint, but of what the slot holds already nothing is written
// again. Where that is not known (the first time, or after a lost side file), it is full.
func (s *Store) CheckpointDiff(ctx context.Context, id int32) (Stats, error) {
	return s.whole(ctx, id, true)
}

func (s *Store) whole(ctx context.Context, id int32, diff bool) (Stats, error) {
	inc, err := s.Begin(ctx, id, diff)
	if err != nil {
		return Stats{}, err
	}
	vars := make([]ffformat.VarBuf, len(s.order))
	for i, v := range s.order {
		vars[i] = ffformat.VarBuf{ID: v, Data: s.data[v]}
	}
	leave, err := s.enter(ctx)
	if err == nil {
		err = inc.addAll(ctx, vars)
		if err == nil {
			err = inc.finish(ctx) // while the rank has its place
		}
		leave()
	}
	return inc.commit(ctx, err)
}

// Incremental is a checkpoint whose variables are added one by one, as they become
// ready.
type Incremental struct {
	s    *Store
	id   int32
	diff bool
	slot int
	time int64
	mark int64 // bytes of side data of the mark
	f    vfs.File
	u    *ffformat.Update
	res  *ffformat.Result
	done bool
}

// Begin starts an incremental checkpoint. Add is not collective; Commit and Abort
// are, and one of them must end it.
func (s *Store) Begin(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc := &Incremental{s: s, id: id, diff: diff}
	if err := inc.announce(ctx); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx)
	if err == nil {
		err = inc.open()
		leave()
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		inc.giveUp()
		return nil, err
	}
	s.busy = true
	return inc, nil
}

// announce agrees on what is going to be written, and notes durably that the slot is no
// longer what its digests say, before anything is written to it.
func (inc *Incremental) announce(ctx context.Context) error {
	s := inc.s
	err := s.err
	switch {
	case err != nil:
	case s.busy:
		err = usageErr("checkpoint %d during an incremental one", inc.id)
	case inc.id < 1:
		err = usageErr("checkpoint id %d, want at least 1", inc.id)
	case s.rec != nil && len(s.rec.Checkpoints) > 0 && inc.id <= s.rec.Checkpoints[len(s.rec.Checkpoints)-1].ID:
		err = usageErr("checkpoint id %d, want more than %d, which is there", inc.id, s.rec.Checkpoints[len(s.rec.Checkpoints)-1].ID)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	first := []int64{int64(inc.id), -int64(inc.id), 0, 0}
	if s.c.Rank() == 0 {
		first[2] = s.o.Clock().UnixNano()
	}
	agreed, err := comm.Allreduce(ctx, s.c, first, comm.Max)
	if err != nil {
		return err
	}
	if agreed[0] != -agreed[1] {
		return usageErr("ranks ask for checkpoints %d to %d, want the same", -agreed[1], agreed[0])
	}
	inc.time, inc.slot = agreed[2], s.free()
	for inc.slot >= len(s.slots) {
		s.slots = append(s.slots, slot{})
	}
	if s.c.Rank() == 0 {
		err = s.makeSlot(inc.slot)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	return inc.writeMark(ctx)
}

// makeSlot makes the directory of a slot.
func (s *Store) makeSlot(k int) error {
	err := s.o.FS.Mkdir(slotDir(s.dir, k))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && s.o.Durability == DurableCommit {
		err = s.o.FS.SyncDir(s.dir)
	}
	return err
}

// writeMark appends the mark to the side files. The first time each is written anew,
// with what still counts for the ranks that are on the node now, and those of other
// nodes of an earlier run are removed: what they say will not be true any more.
func (inc *Incremental) writeMark(ctx context.Context) error {
	s := inc.s
	mark := appendRecord(nil, logBegin, inc.slot, 0, inc.id, nil)
	if s.adopted {
		var err error
		if s.log != nil {
			inc.mark = int64(len(mark))
			if s.log.end > 2*s.log.live+64<<10 {
				err = s.log.compact()
			}
			if err == nil {
				err = s.log.append(mark)
			}
			s.log.live += int64(len(mark))
		}
		return comm.Agree(ctx, s.c, err)
	}
	var own []byte
	for k := range s.slots {
		if d := s.slots[k].digests; d != nil && k != inc.slot {
			b, err := d.MarshalBinary()
			if err != nil {
				return err
			}
			own = appendRecord(own, logDigests, k, s.c.Rank(), d.CkptID, b)
		}
	}
	all, err := s.node.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	if s.log != nil {
		b := slices.Concat(append(all, mark)...)
		inc.mark = int64(len(b))
		err = s.log.rewrite(b)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if err := s.removeOtherLogs(ctx); err != nil {
		return err
	}
	s.adopted = true
	return nil
}

// removeOtherLogs removes the side files that no node of this run writes.
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
		logs, err := nodeLogs(s.o.FS, s.dir)
		failed = err
		removed := false
		for _, n := range logs {
			if !ours[n] && failed == nil {
				failed = s.o.FS.Remove(n)
				removed = true
			}
		}
		if failed == nil && removed && s.o.Durability == DurableCommit {
			failed = s.o.FS.SyncDir(s.dir)
		}
	}
	return comm.Agree(ctx, s.c, failed)
}

// open opens the file of this rank and begins the update.
func (inc *Incremental) open() (err error) {
	s := inc.s
	k := &s.slots[inc.slot]
	name := FileName(s.dir, inc.slot, s.c.Rank())
	o := ffformat.UpdateOptions{CkptID: inc.id, Timestamp: inc.time, Differential: inc.diff}
	if inc.diff {
		o.Prev = k.digests
	}
	for _, e := range s.committed() {
		o.Recent = s.slots[e.Slot].digests
	}
	k.digests = nil
	for _, id := range s.order {
		o.Vars = append(o.Vars, ffformat.VarSize{ID: id, Size: int64(len(s.data[id]))})
	}
	if inc.f, err = s.o.FS.OpenRW(name); errors.Is(err, fs.ErrNotExist) {
		inc.f, err = s.o.FS.Create(name)
		o.Fresh = true
		k.exists = false
	}
	if err != nil {
		return err
	}
	// So that a full disk shows before anything of the slot is lost, and blocks lie together.
	want, err := s.w.FileSize(o.Vars)
	if err != nil {
		return err
	}
	now, err := inc.f.Size()
	if err == nil && want > now {
		err = inc.f.Allocate(now, want-now)
	}
	if err != nil {
		return err
	}
	inc.u, err = s.w.Begin(inc.f, o)
	return err
}

func (s *Store) committed() []entry {
	if s.rec == nil {
		return nil
	}
	return s.rec.Checkpoints
}

// Add writes a protected variable, whose memory is read until it returns. Each
// must be added once, in any order. After an error Commit will fail on all ranks.
func (inc *Incremental) Add(ctx context.Context, id int32) error {
	data, ok := inc.s.data[id]
	switch {
	case inc.done:
		return usageErr("Add of %d after the end of checkpoint %d", id, inc.id)
	case !ok:
		return usageErr("variable %d is not protected", id)
	}
	leave, err := inc.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return inc.addAll(ctx, []ffformat.VarBuf{{ID: id, Data: data}})
}

func (inc *Incremental) addAll(ctx context.Context, vars []ffformat.VarBuf) error {
	return inc.u.AddAll(ctx, vars)
}

// finish writes the metadata and makes the file durable.
func (inc *Incremental) finish(ctx context.Context) (err error) {
	if inc.res, err = inc.u.Finish(ctx); err != nil {
		return err
	}
	if inc.s.o.Durability != DurableNone {
		if err := inc.f.Sync(); err != nil {
			return err
		}
	}
	err = inc.f.Close()
	inc.f = nil
	return err
}

// Commit ends the checkpoint. All protected variables must have been added on all ranks;
// else it fails on all, and nothing has changed for a reader.
func (inc *Incremental) Commit(ctx context.Context) (Stats, error) {
	if inc.done {
		return Stats{}, usageErr("Commit after the end of checkpoint %d", inc.id)
	}
	leave, err := inc.s.enter(ctx)
	if err == nil {
		err = inc.finish(ctx)
		leave()
	}
	return inc.commit(ctx, err)
}

// Abort gives the checkpoint up.
func (inc *Incremental) Abort(ctx context.Context) error {
	if inc.done {
		return nil
	}
	inc.giveUp()
	return comm.Agree(ctx, inc.s.c, nil)
}

// giveUp leaves the Writer as it was before.
func (inc *Incremental) giveUp() {
	inc.done, inc.s.busy = true, false
	if inc.u != nil {
		inc.u.Abort()
	}
	if inc.res != nil {
		inc.s.w.Undo()
	}
	if inc.f != nil {
		inc.f.Close()
		inc.f = nil
	}
}

// commit takes the checkpoint of all ranks from files to the record.
func (inc *Incremental) commit(ctx context.Context, err error) (Stats, error) {
	s := inc.s
	if err := comm.Agree(ctx, s.c, err); err != nil {
		inc.giveUp()
		return Stats{}, err
	}
	side, err := inc.logDigests(ctx)
	if err != nil {
		inc.giveUp()
		return Stats{}, err
	}
	st := inc.res.Stats
	sum, err := comm.Allreduce(ctx, s.c, []int64{
		st.Data, st.Written, st.MD5, st.Blocks, st.Dirty, st.Writes, side + inc.mark, inc.res.File.Size, int64(len(s.order)), 0,
	}, comm.Sum)
	if err != nil {
		inc.giveUp()
		return Stats{}, err
	}
	total := Stats{ffformat.Stats{Data: sum[0], Written: sum[1], MD5: sum[2], Blocks: sum[3], Dirty: sum[4], Writes: sum[5]}, sum[6]}
	rec := s.next(entry{ID: inc.id, Slot: inc.slot, Time: inc.time, Data: sum[0], Files: sum[7], Vars: sum[8]})
	uncertain := false
	if s.c.Rank() == 0 {
		uncertain, err = s.replaceRecord(rec)
	}
	doubt, aerr := s.c.Bcast(ctx, 0, fmt.Appendf(nil, "%v", uncertain))
	if aerr == nil {
		aerr = comm.Agree(ctx, s.c, err)
	}
	if aerr != nil {
		inc.giveUp()
		if string(doubt) != "false" {
			s.err = fmt.Errorf("ffstore: checkpoint %d may or may not be committed, open the store again: %w: %w", inc.id, ErrBroken, aerr)
			return total, s.err
		}
		return total, aerr
	}
	s.rec = rec
	s.slots[inc.slot] = slot{digests: inc.res.Digests, exists: true}
	inc.done, s.busy = true, false
	s.dropSlots()
	return total, nil
}

// logDigests collects the digests on the leader of each node, which appends them. Files that
// are new get durable names.
func (inc *Incremental) logDigests(ctx context.Context) (side int64, err error) {
	s := inc.s
	isNew, err := comm.AllreduceOne(ctx, s.node, boolInt(!s.slots[inc.slot].exists), comm.Max)
	if err != nil {
		return 0, err
	}
	var own []byte
	b, failed := inc.res.Digests.MarshalBinary()
	if failed == nil {
		own = appendRecord(nil, logDigests, inc.slot, s.c.Rank(), inc.id, b)
	}
	all, err := s.node.Gather(ctx, 0, own)
	if err != nil {
		return 0, err
	}
	if s.log != nil && failed == nil {
		if isNew != 0 && s.o.Durability == DurableCommit {
			failed = s.o.FS.SyncDir(slotDir(s.dir, inc.slot))
		}
		if failed == nil {
			rec := slices.Concat(all...)
			side = int64(len(rec))
			failed = s.log.append(rec)
			s.log.live = side*int64(len(s.slots)) + 1
		}
	}
	return side, comm.Agree(ctx, s.c, failed)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// next is the record with one more checkpoint, and the oldest gone.
func (s *Store) next(e entry) *record {
	rec := &record{Format: recordFormat, Ver: 1, Seq: 1, Ranks: s.c.Size(), Layout: s.o.Layout.String(), Hash: hashName(s.o.Hash)}
	if s.rec != nil {
		rec.Seq = s.rec.Seq + 1
		rec.Checkpoints = slices.Clone(s.rec.Checkpoints)
	}
	rec.Checkpoints = append(rec.Checkpoints, e)
	rec.Checkpoints = rec.Checkpoints[max(0, len(rec.Checkpoints)-s.o.Keep):]
	rec.Slots = s.o.Keep + 1
	for _, e := range rec.Checkpoints {
		rec.Slots = max(rec.Slots, e.Slot+1)
	}
	return rec
}

// replaceRecord commits on rank 0, unless somebody else has since we looked.
func (s *Store) replaceRecord(rec *record) (uncertain bool, err error) {
	now, err := readRecord(s.o.FS, s.dir)
	if err != nil {
		return false, err
	}
	var a, b int64
	if now != nil {
		a = now.Seq
	}
	if s.rec != nil {
		b = s.rec.Seq
	}
	if a != b {
		return false, fmt.Errorf("ffstore: %s: commit %d is there, this store knows %d: somebody else writes to it: %w", s.dir, a, b, ErrBroken)
	}
	return rec.commit(s.o.FS, s.dir, s.o.Durability)
}

// dropSlots removes this rank's files in slots that are not needed any more, after
// Keep became less. What cannot be removed only takes space.
func (s *Store) dropSlots() {
	used := map[int]bool{}
	for _, e := range s.rec.Checkpoints {
		used[e.Slot] = true
	}
	for k := s.o.Keep + 1; k < len(s.slots); k++ {
		if !used[k] && s.slots[k].exists {
			s.o.FS.Remove(FileName(s.dir, k, s.c.Rank())) //nolint:errcheck // see above
			s.slots[k] = slot{}
		}
	}
}
