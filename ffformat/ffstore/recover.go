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

// Recover fills the protected variables of all ranks from the newest checkpoint that is
// sound on all of them, and returns its id. skipped has an error for each
// newer one that is not; the next checkpoint replaces these. If no kept checkpoint is sound, the spare
// in the free slot is taken, the one before the kept ones, provided that
// every byte of it is still as committed. Stored and protected variables must be the same,
// with the same sizes (SizeError; nothing is read then: ask Stored, Protect, and call RecoverID).
//
// After an error the memory may hold parts of several checkpoints: do not continue from it. The error
// names the damage of all that were tried. ErrMissing: nothing was ever committed.
func (s *Store) Recover(ctx context.Context) (id int32, skipped []error, err error) {
	list := s.ledger.rec.newestFirst()
	for _, e := range list {
		damaged, err := s.recover(ctx, &e)
		if err == nil {
			return e.ID, skipped, nil
		}
		if !damaged {
			if errors.As(err, new(*SizeError)) && len(skipped) > 0 {
				err = fmt.Errorf("%w: Stored, Protect and RecoverID recover checkpoint %d", err, e.ID)
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

// damage reports whether a checkpoint is not sound, and not that it could not be read just now: a
// passing error of I/O must not cost the newest one.
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

// RecoverID is Recover of this checkpoint and no other. The program goes on from it: newer
// checkpoints stay until the next one is committed. One that is not kept, but still in the free
// slot, can be recovered, too; the next checkpoint is then written over a newer one.
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

// agreeDamage is comm.Agree of the ranks' errors for a checkpoint. damaged, the same on all ranks: it is not
// sound, and nothing else is wrong.
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

// recover reads one checkpoint on all ranks, or fails on all. Sizes are compared on all
// ranks before the memory of any is touched. damaged as in agreeDamage.
func (s *Store) recover(ctx context.Context, e *entry) (damaged bool, err error) {
	var r *ffformat.Reader
	var f vfs.File
	var other error // about sizes
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
			s.files.slots[e.Slot].digests = nil // they vouch for bytes that are not there
		}
		return err
	}))
	if err != nil {
		s.logs.adopted = false // nor must the side files
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

// sizes holds the variables of a file against the protected ones.
func (s *Store) sizes(e *entry, f *ffformat.File) error {
	err := &SizeError{Rank: s.c.Rank(), CkptID: e.ID}
	stored := map[int32]int64{}
	for _, v := range f.Vars() {
		stored[v.ID] = v.Size
		if _, ok := s.data[v.ID]; !ok && v.Size > 0 { // one that was protected once keeps its place
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

// Stored returns the variables of this rank in a checkpoint, with their sizes, for programs
// that allocate before they protect and recover. It is not collective.
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

// RecoverVar reads one variable of this rank from a checkpoint, verified. dst must have its
// size. It is not collective.
func (s *Store) RecoverVar(ctx context.Context, id, varID int32, dst []byte) error {
	r, f, err := s.reader(id)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.ReadVar(ctx, varID, dst)
}
