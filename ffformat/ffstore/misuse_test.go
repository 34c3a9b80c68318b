package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestStoreRefuses: wrong use gives the same error on all ranks and changes nothing.
func TestStoreRefuses(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true}
	err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		want := func(what string, err, class error) error {
			if !errors.Is(err, class) {
				return fmt.Errorf("%s: %v, want %v", what, err, class)
			}
			return nil
		}
		_, _, err := s.Recover(ctx)
		must(t, want("Recover of nothing", err, ErrMissing))
		if _, err := m.step(ctx, c, s, 5); err != nil {
			return err
		}
		_, err = s.Checkpoint(ctx, 5)
		must(t, want("an id twice", err, fault.ErrUsage))
		_, err = s.Checkpoint(ctx, int32(7+c.Rank()))
		must(t, want("two ids", err, fault.ErrUsage))
		inc, err := s.Begin(ctx, 6, true)
		must(t, err)
		must(t, want("Protect during a checkpoint", s.Protect(1, nil), fault.ErrUsage))
		must(t, want("Add of what is not protected", inc.Add(ctx, 99), fault.ErrUsage))
		if c.Rank() == 0 { // rank 1 adds all variables, rank 0 omits one
			err = inc.Add(ctx, 1)
		} else {
			for _, id := range varsAt(5) {
				err = errors.Join(err, inc.Add(ctx, id))
			}
		}
		must(t, err)
		_, err = inc.Commit(ctx)
		must(t, want("an incomplete checkpoint", err, fault.ErrUsage))
		if inc, err = s.Begin(ctx, 6, true); err != nil {
			return err
		}
		must(t, inc.Abort(ctx))
		if l := s.List(); len(l) != 1 || l[0].ID != 5 {
			return fmt.Errorf("%v", l)
		}
		// if sizes are too small or too large, no rank reads any data
		stored := int64(len(content(1, 1, 5)))
		for _, n := range []int64{3, stored + 1} {
			if c.Rank() == 1 {
				s.Protect(1, make([]byte, n))
			}
			clear(s.data[2])
			_, _, err = s.Recover(ctx)
			var se *SizeError
			must(t, want("other sizes", err, fault.ErrUsage))
			if c.Rank() == 1 && (!errors.As(err, &se) || len(se.vars) != 1 || se.vars[0] != sizeMismatch{1, stored, n}) {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
			if b := content(c.Rank(), 2, 5); len(b) > 0 && bytes.Equal(b, s.data[2]) {
				return errors.New("variable 2 was read though the sizes of 1 do not fit")
			}
		}
		// Stored returns the stored sizes
		vars, err := s.Stored(5)
		if err != nil || len(vars) != 5 {
			return fmt.Errorf("%v: %w", vars, err)
		}
		for _, v := range vars {
			s.Protect(v.ID, make([]byte, v.Size))
		}
		must(t, s.RecoverID(ctx, 5))
		one := make([]byte, len(content(c.Rank(), 3, 5)))
		if err := s.RecoverVar(ctx, 5, 3, one); err != nil || !bytes.Equal(one, content(c.Rank(), 3, 5)) {
			return fmt.Errorf("RecoverVar: %w", err)
		}
		return nil
	})
	must(t, err)
	for _, n := range []int{1, 3} {
		m.ranks = n
		if err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil }); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%d ranks open what two wrote: %v", n, err)
		}
	}
	m.ranks, m.o.Hash = 2, ffformat.Fast
	if err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil }); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("another hash: %v", err)
	}
}

// TestStoreWriterBetween: if a Store finds at its commit that another program has committed, the Store
// is broken.
func TestStoreWriterBetween(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	m := mode{ranks: 1, diff: true}
	s, err := Open(ctx, comm.Self(), "d", m.options(mem))
	must(t, err)
	if _, err := m.step(ctx, comm.Self(), s, 1); err != nil {
		t.Fatal(err)
	}
	inc, err := s.Begin(ctx, 2, false)
	must(t, err)
	for _, id := range s.order {
		must(t, inc.Add(ctx, id))
	}
	rec, err := readRecord(mem, "d")
	must(t, err)
	rec.Seq++
	must(t, s.ledger.lease.replace(rec, nil))
	if _, err := inc.Commit(ctx); !errors.Is(err, ErrBroken) || !errors.Is(err, ErrInUse) {
		t.Errorf("%v, want ErrBroken and ErrInUse", err)
	}
	if _, _, err := s.Recover(ctx); !errors.Is(err, ErrBroken) {
		t.Errorf("%v, want ErrBroken", err)
	}
}
