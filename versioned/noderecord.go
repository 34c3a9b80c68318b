package versioned

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/verdict"
)

// findRecord reads the record and sends it to all ranks. It is collective.
func (n *nodes) findRecord(ctx context.Context) (*record, error) {
	if n.memory {
		return nil, fmt.Errorf("%s: no array of this name: %w", n.array, ErrMissing)
	}
	var mine []byte
	var err error
	if n.keepsRecord() {
		var rec *record
		if rec, err = readRecord(n.store.fs, n.store.dir); err == nil {
			mine, err = rec.encode()
		}
	}
	if err := comm.Agree(ctx, n.c, err); err != nil {
		return nil, err
	}
	if mine, err = n.c.Bcast(ctx, 0, mine); err != nil {
		return nil, err
	}
	return decodeRecord(mine, n.file(recordName)) // all ranks decode the same bytes
}

// newRecord makes the directory and the first record, with version 0, which is all zeros. If again is true, it replaces an
// existing array that has only version 0. It is collective.
func (n *nodes) newRecord(ctx context.Context, s *Spec, o *Options, again bool) (*record, error) {
	before := int64(0) // commit number of the empty array that is replaced
	var err error
	if n.keepsRecord() {
		var rec *record
		rec, err = readRecord(n.store.fs, n.store.dir)
		switch {
		case err == nil && again && rec.empty():
			before = rec.Seq
		case err == nil:
			err = fmt.Errorf("%s: an array of this name already exists: %w", n.store.dir, ErrExist)
		case errors.Is(err, ErrMissing):
			err = nil
		}
	}
	if err := comm.Agree(ctx, n.c, err); err != nil {
		return nil, err
	}
	if before, err = comm.AllreduceOne(ctx, n.c, before, comm.Max); err != nil {
		return nil, err
	}
	g := newGeometry(1, s.capacity(elems(s.Shape)), n.c.Size(), s.chunkElems())
	if err := g.check(s); err != nil {
		return nil, err
	}
	rec := &record{SealHead: records.Head(before + 1), Order: hostOrder(), Generations: []geometry{g}, Spec: specOf(s)}
	v := verInfo{VersionInfo: VersionInfo{Generation: 1, Shape: s.Shape}}
	mine, err := json.Marshal(rec) // all ranks must want the same array
	if err != nil {
		return nil, err
	}
	var now []byte
	if n.c.Rank() == 0 {
		now = fmt.Appendf(nil, "%d %s\n%s", o.clock().UnixNano(), keyCheck(o), mine)
	}
	now, err = n.c.Bcast(ctx, 0, now)
	if err != nil {
		return nil, err
	}
	line, first, _ := bytes.Cut(now, []byte("\n"))
	fmt.Sscan(string(line), &v.Time, &rec.Key)
	if err = keyFits(rec, o); err == nil && !bytes.Equal(first, mine) {
		err = fault.Usage("array %s: rank %d wants %s, but rank 0 wants %s", n.array, n.c.Rank(), mine, first)
	}
	if err := comm.Agree(ctx, n.c, err); err != nil { // the ranks agree before the first write
		return nil, err
	}
	rec.Versions = []verInfo{v}
	if n.keepsRecord() {
		err = n.makeDir()
	}
	if err := comm.Agree(ctx, n.c, err); err != nil {
		return nil, err
	}
	_, err = n.writeRecords(ctx, rec, anySeq)
	return rec, err
}

// anySeq, as the argument last, accepts a record with any commit number.
const anySeq = math.MaxInt64

// writeRecords replaces the record. It is collective. last is the commit number of the newest record that this program has read
// or tried to write. A higher number on disk shows that another program has written a record. If broken is true, the array is
// unusable.
func (n *nodes) writeRecords(ctx context.Context, rec *record, last int64) (broken bool, err error) {
	if n.memory {
		return false, nil
	}
	conflict := false
	var commit func() error
	if n.keepsRecord() {
		commit = func() error {
			err := n.putRecord(rec, last)
			conflict = errors.Is(err, ErrConflict)
			return err
		}
	}
	outcome, err := verdict.Commit(ctx, n.c, commit)
	return n.verdict(ctx, outcome, conflict, err)
}

// putRecord replaces the record.
func (n *nodes) putRecord(rec *record, last int64) error {
	if last != anySeq {
		if seq, err := lastSeq(n.store.fs, n.store.dir); err != nil {
			return err
		} else if seq > last {
			return fmt.Errorf("array %s: another program has written commit %d: %w", n.array, seq, ErrConflict)
		}
	}
	return writeRecord(n.store.fs, n.store.dir, rec, n.sync)
}

// verdict translates the outcome of a commit into an error for the array. It is collective.
func (n *nodes) verdict(ctx context.Context, outcome verdict.Outcome, conflict bool, err error) (broken bool, _ error) {
	switch outcome {
	case verdict.InDoubt: // the next open shows which record is valid
		return true, fmt.Errorf("array %s: it is unknown which version would survive a power loss; open the array again: %w: %w", n.array, err, ErrBroken)
	case verdict.NotDone: // another node may have the conflict, and err is of this node
		some, aerr := comm.AllreduceOne(ctx, n.c, btoi(conflict), comm.Max)
		if aerr != nil || some != 0 { // do not remove this rank's files: they may have the same names as files of the other program
			return true, fmt.Errorf("array %s: open the array again: %w: %w", n.array, errors.Join(err, aerr), ErrBroken)
		}
	}
	return false, err
}

// removeStray removes files of this array that a dead writer left and that the record does not name. It does so only if both
// records on disk are sound and equal to rec. Otherwise the older record on disk may need the files, and it could be the only
// record left after a loss. removeStray is collective.
func (n *nodes) removeStray(ctx context.Context, rec *record) error {
	var err error
	if n.keepsRecord() {
		here, bad := readRecords(n.store.fs, n.store.dir)
		if here == nil || here.Seq == rec.Seq && errors.Join(bad...) == nil {
			err = n.sweep(rec)
		}
	}
	return comm.Agree(ctx, n.c, err)
}

// sweep removes data files that the record does not name.
func (n *nodes) sweep(rec *record) error {
	if !n.keepsRecord() {
		return nil
	}
	list, err := n.store.fs.ReadDir(n.store.dir)
	errs := []error{err}
	for _, e := range list {
		if rec.stray(e.Name()) {
			errs = append(errs, n.store.fs.Remove(n.file(e.Name())))
		}
	}
	return errors.Join(errs...)
}
