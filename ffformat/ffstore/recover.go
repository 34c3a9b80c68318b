package ffstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Recover fills the protected variables of all ranks from the newest checkpoint that is sound on all ranks, and returns its id.
// skipped has an error for each newer, damaged checkpoint; the next checkpoint replaces the damaged ones. If no kept checkpoint
// is sound, Recover takes the spare, the checkpoint before the kept ones, provided that every byte is as committed. The protected
// variables must be those that are stored, with the same sizes. Otherwise Recover reads nothing and returns a SizeError: call
// Stored, Protect and RecoverID.
//
// After any other error the memory may hold parts of several checkpoints, so the program must not continue from it. The error
// describes the damage of every checkpoint that Recover tried. ErrMissing means that no checkpoint was ever committed.
func (s *Store) Recover(ctx context.Context) (id int32, skipped []error, err error) {
	list := s.ledger.rec.newestFirst()
	for _, e := range list {
		damaged, err := s.recover(ctx, &e)
		if err == nil {
			return e.ID, skipped, nil
		}
		if !damaged {
			if errors.As(err, new(*SizeError)) && len(skipped) > 0 {
				err = fmt.Errorf("%w; to recover checkpoint %d, call Stored, Protect and RecoverID", err, e.ID)
			}
			if len(skipped) > 0 {
				err = fmt.Errorf("%w; newer checkpoints are damaged: %w", err, errors.Join(skipped...))
			}
			return 0, skipped, err
		}
		skipped = append(skipped, fmt.Errorf("checkpoint %d in slot %d: %w", e.ID, e.Slot, err))
	}
	if len(list) == 0 {
		return 0, nil, fmt.Errorf("%s: no checkpoint: %w", s.dir, ErrMissing)
	}
	return 0, skipped, fmt.Errorf("%s: no checkpoint can be recovered: %w; \"blobio ff check %[1]s\" lists all damage, "+
		"\"blobio ff repair -n --force %[1]s\" looks for whole checkpoints that the seal does not list, RecoverVar reads single variables",
		s.dir, errors.Join(skipped...))
}

// damage reports whether an error means that a checkpoint is damaged. Other errors may be temporary, and Recover must not skip
// the newest checkpoint because of them.
func damage(err error) bool {
	if errors.Is(err, fault.ErrUsage) || errors.Is(err, ErrBroken) {
		return false
	}
	for _, class := range []error{
		fault.ErrTruncated, fault.ErrChecksum, fault.ErrCorrupt, fault.ErrNotFormat, fault.ErrVersion, ErrMissing, ffformat.ErrUnsupported, fault.ErrTooLarge, fault.ErrRange,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// RecoverID fills the protected variables from one given checkpoint, and the program continues from there. Newer checkpoints stay
// until the next commit. RecoverID also finds the spare, which is not kept but still in the free slot. In that case the next
// checkpoint overwrites a newer checkpoint.
func (s *Store) RecoverID(ctx context.Context, id int32) error {
	_, err := s.ledger.rec.entry(s.dir, id)
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	var tried []error
	for _, e := range s.ledger.rec.newestFirst() {
		if e.ID != id {
			continue
		}
		damaged, err := s.recover(ctx, &e)
		if err == nil {
			return nil
		}
		if tried = append(tried, err); !damaged {
			break
		}
	}
	return errors.Join(tried...)
}

// agreeDamage calls comm.Agree for the ranks' errors about a checkpoint. damaged is the same on all ranks. It is true if some
// rank found damage and no rank has another kind of error.
func (s *Store) agreeDamage(ctx context.Context, err error) (damaged bool, _ error) {
	const other, unsound, sound = 0, 1, 2
	verdict := int64(sound)
	switch {
	case err == nil:
	case damage(err) && ctx.Err() == nil:
		verdict = unsound
	default:
		verdict = other
	}
	v, err := comm.AgreeMin(ctx, s.c, err, verdict)
	return v != nil && v[0] == unsound, err
}

// recover reads one checkpoint on all ranks, or fails on all. It compares the sizes on all ranks before it changes the memory of
// any rank. agreeDamage describes the result damaged.
func (s *Store) recover(ctx context.Context, e *entry) (damaged bool, err error) {
	var r *ffformat.Reader
	var f vfs.File
	var other error // an error other than a SizeError
	err = s.ledger.broken
	switch {
	case err != nil:
	case s.busy:
		err = fault.Usage("Recover during an incremental checkpoint")
	default:
		err = s.files.within(ctx, func() (err error) {
			if r, f, err = openRank(s.o.FS, s.dir, e, s.c.Rank()); err != nil {
				return err
			}
			other = s.sizes(e, r.File())
			return nil
		})
	}
	if r != nil {
		defer f.Close()
	}
	if damaged, err := s.agreeDamage(ctx, err); err != nil {
		return damaged, err
	}
	if err := comm.Agree(ctx, s.c, other); err != nil {
		return false, err
	}
	damaged, err = s.agreeDamage(ctx, s.files.within(ctx, func() error {
		err := s.read(ctx, e, r)
		if err != nil && ctx.Err() == nil {
			s.files.slots[e.Slot].digests = nil // the digests describe bytes that are missing
		}
		return err
	}))
	if err != nil {
		s.logs.adopted = false // the side files have these digests, too
		return damaged, err
	}
	s.ledger.last, s.ledger.base = e.ID, nil
	if slices.ContainsFunc(s.ledger.rec.Spares, func(x entry) bool { return x.Slot == e.Slot }) {
		s.ledger.base = e
	}
	return false, nil
}

// read fills the memory of this rank.
func (s *Store) read(ctx context.Context, e *entry, r *ffformat.Reader) error {
	vars := s.vars()
	stored := map[int32]bool{}
	for _, v := range r.File().Vars() {
		stored[v.ID] = true
	}
	vars = slices.DeleteFunc(vars, func(v ffformat.VarBuf) bool { return len(v.Data) == 0 && !stored[v.ID] })
	o := &ffformat.Options{Workers: s.o.Workers}
	if d := s.files.slots[e.Slot].digests; d != nil && d.Match(r.File()) == nil {
		o.Digests = d
	}
	return r.ReadVars(ctx, vars, o)
}

// sizes compares the variables of a file with the protected ones.
func (s *Store) sizes(e *entry, f *ffformat.File) error {
	err := &SizeError{Rank: s.c.Rank(), CkptID: e.ID}
	stored := map[int32]int64{}
	for _, v := range f.Vars() {
		stored[v.ID] = v.Size
		if _, ok := s.data[v.ID]; !ok && v.Size > 0 { // a variable that was protected once stays in the file with size 0
			err.vars = append(err.vars, sizeMismatch{v.ID, v.Size, -1})
		}
	}
	for _, id := range s.order {
		n, ok := stored[id]
		if n == int64(len(s.data[id])) {
			continue
		}
		if !ok {
			n = -1
		}
		err.vars = append(err.vars, sizeMismatch{id, n, int64(len(s.data[id]))})
	}
	if len(err.vars) > 0 {
		return err
	}
	return nil
}

// Stored returns the variables of this rank in a checkpoint, with their sizes. Programs use it to allocate memory before Protect
// and RecoverID. It is not collective.
func (s *Store) Stored(id int32) ([]ffformat.VarInfo, error) {
	r, f, err := s.reader(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return r.File().Vars(), nil
}

func (s *Store) reader(id int32) (*ffformat.Reader, vfs.File, error) {
	e, err := s.ledger.rec.entry(s.dir, id)
	if err != nil {
		return nil, nil, err
	}
	if s.ledger.base != nil && s.ledger.base.ID == id {
		e = s.ledger.base
	}
	return openRank(s.o.FS, s.dir, e, s.c.Rank())
}

// RecoverVar reads and verifies one variable of this rank from a checkpoint. dst must have the variable's size. It is not
// collective.
func (s *Store) RecoverVar(ctx context.Context, id, varID int32, dst []byte) error {
	r, f, err := s.reader(id)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.ReadVar(ctx, varID, dst)
}
