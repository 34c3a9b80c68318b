package ffstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// hurt damages the file of a rank in the slot of the newest checkpoint.
func hurt(t testing.TB, mem *vfs.Mem, rank int, how string) {
	t.Helper()
	l := mustView(t, mem).List()
	hurtSlot(t, mem, l[len(l)-1].Slot, rank, how)
}

func hurtSlot(t testing.TB, mem *vfs.Mem, slot, rank int, how string) {
	t.Helper()
	name := fileName("d", slot, rank)
	b := readAll(t, mem, name)
	switch how {
	case "data":
		b[300] ^= 4
	case "metadata":
		b[len(b)-60] ^= 4
	case "cut":
		b = b[:len(b)/2]
	case "gone":
		mem.Remove(name)
		return
	}
	writeAll(t, mem, name, b)
}

// recovers checks that Recover restores checkpoint want with the right bytes on all ranks, and reports n damaged checkpoints.
func (m mode) recovers(fsys vfs.FS, want int32, n int) error {
	return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		return m.recoverStep(ctx, c, s, want, n)
	})
}

func (m mode) recoverStep(ctx context.Context, c comm.Comm, s *Store, want int32, n int) error {
	if err := protectEmpty(s, c.Rank(), int(want)); err != nil {
		return err
	}
	id, skipped, err := s.Recover(ctx)
	if err != nil || id != want || len(skipped) != n {
		return fmt.Errorf("recovered %d, want %d, skipped %v: %w", id, want, skipped, err)
	}
	return hasStep(s, c.Rank(), int(want))
}

// TestSpare: only one checkpoint is kept, and it is damaged. Recover takes the checkpoint before it, from the other slot, on all
// ranks. The next checkpoint overwrites the damaged one. A power failure at any time leaves an undamaged checkpoint.
func TestSpare(t *testing.T) {
	for _, layout := range crashtest.Some(t, 1, []ffformat.Layout{ffformat.LayoutA, ffformat.LayoutB, ffformat.LayoutE, ffformat.LayoutF}) {
		for _, how := range []string{"data", "metadata", "cut", "gone"} {
			t.Run(fmt.Sprintf("%v/%s", layout, how), func(t *testing.T) {
				m := mode{ranks: 3, diff: true, o: Options{Layout: layout}}
				mem := vfs.NewMem()
				m.steps(t, mem, 4, 4)
				m.steps(t, mem, 16, 16) // checkpoint 16 again, so the sizes are the same
				hurt(t, mem, 1, how)
				whole := false
				for f := range Check(context.Background(), "d", &Options{FS: mem}) {
					whole = whole || f.Dataset.Is(4) && strings.Contains(f.Msg, "which Recover can use")
				}
				if !whole {
					t.Error("Check does not report that checkpoint 4 is complete")
				}
				must(t, m.recovers(mem, 4, 1))
				var armed atomic.Bool
				sc := crashtest.Scenario{On: []*vfs.Mem{mem}, Every: crashtest.Times(3, 1), Only: func(op vfs.Op) bool { return armed.Load() && op.Kind.Changes() },
					Run: crashtest.One(func(fsys vfs.FS) error {
						return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
							if err := m.recoverStep(ctx, c, s, 4, 1); err != nil {
								return err
							}
							armed.Store(true)
							_, err := m.step(ctx, c, s, 16)
							if l := s.List(); err == nil && (len(l) != 1 || l[0].ID != 16) {
								err = fmt.Errorf("%v", l)
							}
							if err == nil {
								if _, err = m.step(ctx, c, s, 17); err == nil && len(s.files.slots) != 2 {
									err = fmt.Errorf("%d slots", len(s.files.slots))
								}
							}
							return err
						})
					})}
				for _, cut := range sc.Cuts(t) {
					var all error
					whole := false
					for _, x := range []struct {
						id      int32
						skipped int
					}{{4, 1}, {16, 0}, {17, 0}} {
						err := m.recovers(cut.Mem[0], x.id, x.skipped)
						whole, all = whole || err == nil, errors.Join(all, err)
					}
					if !whole {
						t.Fatalf("%s: %v", cut.When, all)
					}
				}
				checkClean(t, mem)
				if l := mustView(t, mem).Spares(); len(l) != 1 || l[0].ID != 16 {
					t.Errorf("spares %v", l)
				}
				m.steps(t, mem, 18, 19)
				m.holds(t, mem, 19)
				checkClean(t, mem)
			})
		}
	}
}

// TestSpareNotWhole: if the other slot is damaged, too, the error names both checkpoints and the command to run.
func TestSpareNotWhole(t *testing.T) {
	m := mode{ranks: 2, diff: true}
	mem := vfs.NewMem()
	m.steps(t, mem, 4, 4)
	m.steps(t, mem, 16, 16)
	hurtSlot(t, mem, 0, 0, "data")
	hurtSlot(t, mem, 1, 1, "data")
	err := m.recovers(mem, 4, 2)
	if !errors.Is(err, fault.ErrChecksum) {
		t.Fatal(err)
	}
	for _, want := range []string{fileName("d", 0, 0), fileName("d", 1, 1), "checkpoint 4 in slot 0", "checkpoint 16 in slot 1", "blobio ff check d", "blobio ff repair"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// TestSpareSizes: if the older checkpoint has other sizes, the error also names the damage of the newer one. The older checkpoint
// can be recovered when its sizes are protected.
func TestSpareSizes(t *testing.T) {
	for _, keep := range []int{1, 2} {
		m := mode{ranks: 2, diff: true, o: Options{Keep: keep}}
		mem := vfs.NewMem()
		m.steps(t, mem, 4, 5)
		hurt(t, mem, 0, "data")
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			must(t, protectStep(s, c.Rank(), 5))
			_, skipped, err := s.Recover(ctx)
			var se *SizeError
			if !errors.As(err, &se) || se.CkptID != 4 || !errors.Is(err, fault.ErrChecksum) || len(skipped) != 1 ||
				!strings.Contains(err.Error(), fileName("d", 1, 0)) || !strings.Contains(err.Error(), "to recover checkpoint 4") {
				return fmt.Errorf("skipped %v: %w", skipped, err)
			}
			vars, err := s.Stored(se.CkptID)
			must(t, err)
			for _, v := range vars {
				s.Protect(v.ID, make([]byte, v.Size))
			}
			must(t, s.RecoverID(ctx, se.CkptID))
			must(t, hasStep(s, c.Rank(), 4))
			_, err = m.step(ctx, c, s, 6)
			return err
		}); err != nil {
			t.Fatalf("keep %d: %v", keep, err)
		}
		m.holds(t, mem, 6)
	}
}

// TestSpareOtherRanks: one rank finds that the newest checkpoint is damaged, and another rank finds other sizes. All ranks take
// the older checkpoint together. An I/O error on any rank stops all ranks.
func TestSpareOtherRanks(t *testing.T) {
	eio := errors.New("input/output error")
	for _, broken := range []bool{false, true} {
		m := mode{ranks: 2, diff: true}
		mem := vfs.NewMem()
		m.steps(t, mem, 4, 5)
		hurt(t, mem, 0, "gone")
		var fsys vfs.FS = mem
		if broken {
			var opened bool
			var mu sync.Mutex
			fsys = vfs.NewFault(mem, func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.Name == fileName("d", 1, 1) && op.Kind == vfs.OpOpen {
					if opened { // the second failure comes after Open
						return eio
					}
					opened = true
				}
				return nil
			})
		}
		err := m.recovers(fsys, 4, 1)
		if !broken && err != nil || broken && !errors.Is(err, eio) {
			t.Errorf("I/O fails %v: %v", broken, err)
		}
	}
}

// TestSpareNoMixture: a checkpoint is interrupted anywhere while it overwrites the spare, and the newest one is damaged. The
// former spare is recovered exactly as committed, or not at all.
func TestSpareNoMixture(t *testing.T) {
	m := mode{ranks: 2, diff: true}
	base := vfs.NewMem()
	m.steps(t, base, 4, 4)
	m.steps(t, base, 16, 16)
	died := errors.New("killed")
	older, none := 0, 0
	sc := crashtest.Scenario{Start: []*vfs.Mem{base}, Run: crashtest.One(func(fsys vfs.FS) error {
		return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
			_, err := m.step(ctx, c, s, 28) // the same sizes, but other bytes
			return err
		})
	})}
	for f := range sc.Faults(t, crashtest.Dies(died)) {
		mem := f.Mem[0]
		if l := mustView(t, mem).List(); l[0].ID != 16 {
			break // committed
		}
		if f.Err == nil {
			t.Fatal("killed, and no error")
		}
		hurt(t, mem, 0, "data")
		switch err := m.recovers(mem, 4, 1); {
		case err == nil:
			older++
		case strings.Contains(err.Error(), "wrong bytes"):
			t.Fatalf("%s: %v", f.When, err)
		default:
			none++
		}
	}
	if older == 0 || none == 0 {
		t.Errorf("recovered %d times, refused %d times: want both", older, none)
	}
}

// TestSpareOfAnotherLine: if a spare is newer than the checkpoint from which the program continues, it is dropped, because the
// next checkpoint may have the same id.
func TestSpareOfAnotherLine(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true, o: Options{Keep: 3}}
	back := func(to int) {
		t.Helper()
		must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			must(t, protectStep(s, c.Rank(), to))
			must(t, s.RecoverID(ctx, int32(to)))
			_, err := m.step(ctx, c, s, to+1)
			return err
		}))
	}
	m.steps(t, mem, 1, 7)
	back(5)
	m.steps(t, mem, 7, 9)
	m.o.Keep = 1
	m.steps(t, mem, 10, 10)
	m.o.Keep = 2
	if l := mustView(t, mem).Spares(); len(l) != 3 || l[0].ID != 7 {
		t.Fatalf("spares %v", l)
	}
	back(7)
	if v := mustView(t, mem); len(v.Spares()) != 0 || len(v.List()) != 2 {
		t.Errorf("kept %v, spares %v", v.List(), v.Spares())
	}
	m.holds(t, mem, 8)
	checkClean(t, mem)
}
