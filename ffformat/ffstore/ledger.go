package ffstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
)

// ledger has the commit record, which is known to all ranks, and the checkpoint to which the memory was last saved or from which
// it was filled.
type ledger struct {
	c    comm.Comm
	fsys vfs.FS
	dir  string
	d    Durability
	rec  *record // last committed record; nil if there is none

	lease   *lease               // held by rank 0, from the first checkpoint on
	leasing durable.LeaseOptions // set by tests

	last   int32  // id of the last checkpoint that the memory was saved to or filled from; new ids must be higher
	base   *entry // the checkpoint last, if Recover found it in a spare
	broken error  // the error that makes the store unusable
}

// read makes the directory and reads the record on rank 0, and sends the record to all ranks. It returns the number of slots. It
// is collective.
func (l *ledger) read(ctx context.Context) (slots int, err error) {
	type found struct {
		Rec   *record
		Slots int
	}
	var b []byte
	var sums [][]byte
	if l.c.Rank() == 0 {
		var t found
		if t.Rec, t.Slots, err = l.find(); err == nil {
			if l.rec = t.Rec; l.rec != nil {
				t.Rec = l.rec.clone()
				for e := range t.Rec.all() {
					e.Sums = nil
				}
			}
			b, err = json.Marshal(t)
		}
	}
	if err := comm.Agree(ctx, l.c, err); err != nil {
		return 0, err
	}
	if b, err = l.c.Bcast(ctx, 0, b); err != nil {
		return 0, err
	}
	var t found
	if err := json.Unmarshal(b, &t); err != nil || t.Rec == nil {
		return t.Slots, err
	}
	// Each rank receives only its own sum.
	if l.c.Rank() == 0 {
		sums = make([][]byte, l.c.Size())
		for r := range min(len(sums), l.rec.Ranks) {
			for e := range l.rec.all() {
				sums[r] = append(sums[r], e.forRank(r).own...)
			}
		}
	} else {
		l.rec = t.Rec
	}
	got, err := l.c.Alltoallv(ctx, sums)
	if err != nil {
		return 0, err
	}
	own := got[0]
	for e := range l.rec.all() {
		if len(own) >= sumLen { // otherwise the number of ranks differs
			e.own, own = slices.Clone(own[:sumLen]), own[sumLen:]
		}
	}
	if n := len(l.rec.Checkpoints); n > 0 {
		l.last = l.rec.Checkpoints[n-1].ID
	}
	return t.Slots, nil
}

// find reads the record and counts the slots.
func (l *ledger) find() (rec *record, slots int, err error) {
	if err = l.fsys.Mkdir(l.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, 0, err
	}
	if rec, err = readRecord(l.fsys, l.dir); err != nil {
		return nil, 0, err
	}
	// Make the names durable, because the program that made them may have died before it did so. A name that is read here must
	// not vanish in a later power loss.
	if l.d == DurableCommit {
		err = l.fsys.SyncDir(l.dir)
		if err == nil && rec == nil {
			err = vfs.SyncParent(l.fsys, l.dir)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	dirs, err := slotDirs(l.fsys, l.dir)
	if err != nil {
		return nil, 0, err
	}
	for _, k := range dirs {
		slots = max(slots, k+1)
		if rec != nil {
			continue
		}
		// The record is written before the first slot, so it must have existed.
		files, err := l.fsys.ReadDir(slotDir(l.dir, k))
		if err != nil {
			return nil, 0, err
		}
		if len(files) > 0 {
			return nil, 0, fault.At(filepath.Join(l.dir, recordName), -1, "", ErrMissing, "the seal is missing, but slot %d has files: Rebuild makes a seal from them", k)
		}
	}
	if rec != nil {
		slots = max(slots, rec.Slots)
	}
	return rec, slots, nil
}

// agree calls comm.Agree. If the agreed error makes the Store unusable, agree keeps the error.
func (l *ledger) agree(ctx context.Context, err error) error {
	err = comm.Agree(ctx, l.c, err)
	if errors.Is(err, ErrBroken) {
		l.broken = err
	}
	return err
}

// committed returns the entries of the record, oldest first.
func (l *ledger) committed() []entry {
	if l.rec == nil {
		return nil
	}
	return l.rec.Checkpoints
}

// line returns the checkpoints from which the memory descends, oldest first, without those that Recover found damaged. They are
// the kept checkpoints up to l.last. If Recover fell back to a spare, the spare is the last one.
func (l *ledger) line() []entry {
	out := slices.DeleteFunc(slices.Clone(l.committed()), func(e entry) bool { return e.ID > l.last || l.base != nil && e.ID == l.base.ID })
	if l.base != nil {
		out = append(out, *l.base)
	}
	return out
}

// free returns the slot for the next checkpoint: the lowest slot without a kept checkpoint. After the recovery of a spare, that
// spare counts as kept and the damaged checkpoints do not, so the only whole checkpoint is never overwritten. All ranks find the
// same slot.
func (l *ledger) free() int {
	held := l.committed()
	if l.base != nil {
		held = l.line()
	}
	for k := 0; ; k++ {
		if !slices.ContainsFunc(held, func(e entry) bool { return e.Slot == k }) {
			return k
		}
	}
}

// claim makes rank 0 the only writer of the directory. It fails if another program has changed the record.
func (l *ledger) claim(ctx context.Context) (err error) {
	if l.lease == nil {
		if l.lease, err = hold(ctx, l.fsys, l.dir, l.d, l.leasing); err != nil {
			return err
		}
	}
	return l.unchanged()
}

// unchanged returns an error unless this Store still holds the lease and the record file still has the record that the Store
// knows.
func (l *ledger) unchanged() error {
	if err := l.lease.check(); err != nil {
		return err
	}
	now, err := readRecord(l.fsys, l.dir)
	if err != nil {
		return err
	}
	var a, b int64
	if now != nil {
		a = now.Seq
	}
	if l.rec != nil {
		b = l.rec.Seq
	}
	if a != b {
		return fmt.Errorf("%s: the store has commit %d, this Store knows %d: another program is writing; open the store again: %w: %w", l.dir, a, b, ErrBroken, ErrInUse)
	}
	return nil
}

// next returns a record with the additional checkpoint e. It drops checkpoints newer than the one from which the memory
// continues. keep is the number of kept checkpoints. If there are more, the oldest become spares until their slots are reused.
func (l *ledger) next(e entry, keep int) *record {
	rec := l.rec.clone()
	rec.Seq++
	line := append(l.line(), e)
	cut := max(0, len(line)-keep)
	rec.Checkpoints = line[cut:]
	rec.Slots = rec.slotsWith(keep)
	taken := map[int]bool{}
	for _, e := range line {
		taken[e.Slot] = true
	}
	rec.Spares = append(slices.DeleteFunc(rec.Spares, func(x entry) bool { return x.ID > l.last || taken[x.Slot] }), line[:cut]...)
	rec.Spares = slices.DeleteFunc(rec.Spares, func(x entry) bool { return x.Slot >= rec.Slots })
	return rec
}

// replace commits a record on rank 0, unless another program has committed since this Store read the record. It sends the result
// to all ranks. If the outcome of the commit is unknown, it breaks the Store.
func (l *ledger) replace(ctx context.Context, rec *record) error {
	var part func() error
	if l.c.Rank() == 0 {
		part = func() error { return l.lease.replace(rec, l.unchanged) }
	}
	outcome, err := verdict.Commit(ctx, l.c, part)
	switch {
	case outcome == verdict.Done:
		l.rec = rec
	case outcome == verdict.InDoubt:
		l.broken = fmt.Errorf("%s: outcome of commit %d is unknown; open the store again: %w: %w", l.dir, rec.Seq, ErrBroken, err)
		return l.broken
	case errors.Is(err, ErrBroken): // another program has committed
		l.broken = err
	}
	return err
}

func (l *ledger) close() (err error) {
	if l.broken == nil {
		l.broken = fmt.Errorf("closed: %w", ErrBroken)
	}
	if l.lease != nil {
		err = l.lease.Release()
		l.lease = nil
	}
	return err
}
