package ffstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// TestCatchUpWritten: after CatchUp a differential checkpoint writes what changed since the one before,
// and its metadata; without it, also what had changed before that.
func TestCatchUpWritten(t *testing.T) {
	// The seven checkpoints of the documentation of FTI-FF, in units of 1000 bytes.
	sizes := [][]int{{1, 2, 3}, {1, 2, 3, 4}, {1, 6, 7, 4}, {1, 6, 7, 4, 5}, {1, 5, 6, 4, 5}, {1, 8, 9, 4, 5}, {1, 1, 2, 4, 5}}
	for _, layout := range ffformat.Layouts() {
		var more [2]int64 // written beyond what changed, without and with CatchUp
		for catch := range 2 {
			ctx := context.Background()
			rnd := rand.New(rand.NewSource(1))
			mem := vfs.NewMem()
			s, err := Open(ctx, comm.Self(), "d", mode{o: Options{Layout: layout}}.options(mem))
			if err != nil {
				t.Fatal(err)
			}
			vars := make([][]byte, 5)
			for n := range 14 {
				for i, size := range sizes[min(n, len(sizes)-1)] {
					for len(vars[i]) < size*1000 {
						vars[i] = append(vars[i], byte(rnd.Intn(256)))
					}
					vars[i] = vars[i][:size*1000]
					vars[i][rnd.Intn(len(vars[i]))]++
					s.Protect(int32(i+1), vars[i])
				}
				st, err := s.CheckpointDiff(ctx, int32(n+1))
				if err != nil {
					t.Fatal(err)
				}
				r, err := s.reader(int32(n + 1))
				if err != nil {
					t.Fatal(err)
				}
				f := r.File()
				meta := f.Size
				for _, x := range f.Extents() {
					if x.Kind != ffformat.ExtentMeta {
						meta -= x.Len
					}
					if x.Kind == ffformat.ExtentEmpty && layout == ffformat.LayoutA { // filled with zeros
						meta += x.Len
					}
				}
				r.Close()
				if extra := st.Written - st.Changed - meta; extra < 0 || catch == 1 && extra != 0 {
					t.Errorf("%v, CatchUp %d, checkpoint %d: %d written, %d changed, metadata %d", layout, catch, n+1, st.Written, st.Changed, meta)
				} else {
					more[catch] += extra
				}
				if n > 6 && st.Changed > 5*512 {
					t.Errorf("%v, checkpoint %d: %+v", layout, n+1, st)
				}
				if catch == 0 {
					continue
				}
				if st, err = s.CatchUp(ctx); err != nil || st.Written == 0 {
					t.Fatal(st, err)
				}
				if st, err = s.CatchUp(ctx); err != nil || st != (Stats{}) {
					t.Fatalf("twice: %+v, %v", st, err)
				}
			}
			checkClean(t, mem)
		}
		if more[0] == 0 || more[1] != 0 {
			t.Errorf("%v: %d written beyond what changed", layout, more)
		}
	}
}

// TestCatchUpTwin: what CatchUp leaves is the newest checkpoint in every byte, in each layout: when the
// kept one is damaged Recover takes the copy, and the next checkpoint does not overwrite it.
func TestCatchUpTwin(t *testing.T) {
	for _, layout := range ffformat.Layouts() {
		for _, again := range []bool{false, true} {
			m := mode{ranks: 3, diff: true, catch: true, o: Options{Layout: layout}}
			mem := vfs.NewMem()
			m.steps(t, mem, 1, 9)
			v := mustView(t, mem)
			l := v.Spares()
			if len(l) != 1 || l[0].ID != 9 || l[0].Slot == v.List()[0].Slot {
				t.Fatalf("%v: %v beside %v", layout, l, v.List())
			}
			for rank := range 3 {
				e := &v.rec.Spares[0]
				v.checkFile(context.Background(), e, rank, nil, func(f Finding) bool {
					t.Errorf("%v: %v", layout, f)
					return true
				})
			}
			hurt(t, mem, 1, "data")
			if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
				if err := m.recoverStep(ctx, c, s, 9, 1); err != nil {
					return err
				}
				if again {
					return nil
				}
				if st, err := s.CatchUp(ctx); err != nil || st != (Stats{}) {
					return fmt.Errorf("CatchUp from a spare: %+v, %w", st, err)
				}
				slot := s.ledger.free()
				if slot != v.List()[0].Slot {
					return fmt.Errorf("the next checkpoint goes to slot %d", slot)
				}
				_, err := m.step(ctx, c, s, 10)
				return err
			}); err != nil {
				t.Fatalf("%v: %v", layout, err)
			}
			if again { // RecoverID finds it, too
				if _, err := m.holdsStep(mem, 9); err != nil {
					t.Fatal(err)
				}
				continue
			}
			m.holds(t, mem, 10)
			checkClean(t, mem)
		}
	}
}

// TestCatchUpDamage: damage to what would be copied is an error on all ranks, found before the spare is
// touched; damage to what the slot holds already does not reach the copy.
func TestCatchUpDamage(t *testing.T) {
	ctx := context.Background()
	for _, changed := range []bool{true, false} {
		mem := vfs.NewMem()
		if err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			s, err := Open(ctx, c, "d", mode{}.options(mem))
			if err != nil {
				return err
			}
			data := make([]byte, 8192)
			s.Protect(1, data)
			for id := int32(1); id <= 2; id++ {
				data[1000] = byte(id)
				if _, err := s.CheckpointDiff(ctx, id); err != nil {
					return err
				}
			}
			if c.Rank() == 1 {
				name := FileName("d", s.List()[0].Slot, 1)
				b, err := vfs.ReadFile(mem, name, 1<<20)
				if err != nil {
					return err
				}
				if changed {
					b[700] ^= 1 // in the block of byte 1000
				} else {
					b[5000] ^= 1
				}
				if err := errors.Join(mem.Remove(name), vfs.WriteFile(mem, name, b)); err != nil {
					return err
				}
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			_, err = s.CatchUp(ctx)
			clear(data)
			id, skipped, rerr := s.Recover(ctx)
			switch {
			case rerr != nil || len(skipped) != 1:
				return fmt.Errorf("skipped %v: %w", skipped, rerr)
			case changed && (!errors.Is(err, ErrChecksum) || id != 1 || data[1000] != 1):
				return fmt.Errorf("recovered %d: %w", id, err)
			case !changed && (err != nil || id != 2 || data[1000] != 2):
				return fmt.Errorf("recovered %d: %w", id, err)
			}
			return s.Close(ctx)
		}); err != nil {
			t.Errorf("a changed block is damaged: %v: %v", changed, err)
		}
	}
}

// TestCatchUpNothing: where there is nothing to go on from, CatchUp does nothing, on all ranks.
func TestCatchUpNothing(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true, o: Options{Keep: 2}}
	nothing := func(what string, prepare func(ctx context.Context, c comm.Comm, s *Store) error) {
		t.Helper()
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			if err := prepare(ctx, c, s); err != nil {
				return err
			}
			before := s.List()
			if st, err := s.CatchUp(ctx); err != nil || st != (Stats{}) || len(s.List()) != len(before) {
				return fmt.Errorf("%+v: %w", st, err)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	nothing("no checkpoint", func(context.Context, comm.Comm, *Store) error { return nil })
	m.steps(t, mem, 4, 4)
	m.steps(t, mem, 16, 16)
	nothing("an older one is recovered", func(ctx context.Context, c comm.Comm, s *Store) error {
		if err := protectStep(s, c.Rank(), 4); err != nil {
			return err
		}
		return s.RecoverID(ctx, 4)
	})
	mem.Remove(nodeLogName("d", 0))
	nothing("no side file", func(context.Context, comm.Comm, *Store) error { return nil })
	m.steps(t, mem, 17, 17)
	if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		if err := protectStep(s, c.Rank(), 18); err != nil {
			return err
		}
		inc, err := s.Begin(ctx, 18, true)
		if err != nil {
			return err
		}
		if _, err := s.CatchUp(ctx); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("during an incremental checkpoint: %w", err)
		}
		return inc.Abort(ctx)
	}); err != nil {
		t.Error(err)
	}
}

// TestCatchUpFaults: each operation of CatchUp fails once, on whatever rank does it. All ranks get the error,
// the newest checkpoint stays, and the same store goes on.
func TestCatchUpFaults(t *testing.T) {
	eio := errors.New("input/output error")
	m := mode{ranks: 2, diff: true}
	base := vfs.NewMem()
	m.steps(t, base, 1, 3)
	failed := 0
	for at := int64(1); ; at++ {
		mem := base.CrashClone(vfs.CrashOptions{})
		f := &faultAfter{at: at, err: eio}
		if err := m.run(vfs.NewFault(mem, f.hook), func(ctx context.Context, c comm.Comm, s *Store) error {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			f.arm(true)
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			_, err := s.CatchUp(ctx)
			if berr := c.Barrier(ctx); berr != nil {
				return berr
			}
			f.arm(false)
			if f.hit.Load() && err == nil && !f.mild.Load() || err != nil && !errors.Is(err, eio) {
				return fmt.Errorf("hit %v, and the error is %w", f.hit.Load(), err)
			}
			if l := s.List(); len(l) != 1 || l[0].ID != 3 {
				return fmt.Errorf("%v", l)
			}
			if errors.Is(err, ErrBroken) {
				return nil
			}
			_, err = m.step(ctx, c, s, 4)
			return err
		}); err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		if l := mustView(t, mem).List(); l[0].ID == 4 {
			m.holds(t, mem, 4)
		} else {
			m.holds(t, mem, 3)
		}
		checkQuiet(t, mem)
		if !f.hit.Load() {
			break
		}
		failed++
	}
	if failed < 20 {
		t.Errorf("%d operations", failed)
	}
}

// TestCatchUpRebuild: a checkpoint and its copy are one checkpoint to Rebuild, also where the layout does not
// store its id.
func TestCatchUpRebuild(t *testing.T) {
	for _, layout := range ffformat.Layouts() {
		for _, logs := range []bool{true, false} {
			mem := vfs.NewMem()
			m := mode{ranks: 2, diff: true, catch: true, o: Options{Layout: layout}}
			m.steps(t, mem, 1, 3)
			mem.Remove("d/" + recordName)
			if !logs {
				mem.Remove(nodeLogName("d", 0))
			}
			list, left, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem})
			if err != nil || len(list) != 1 || len(left) != 0 || list[0].ID != 3 && (logs || hasID(layout)) {
				t.Errorf("%v, side files %v: %v, left %v: %v", layout, logs, list, left, err)
			}
		}
	}
}
