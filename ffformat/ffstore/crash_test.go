package ffstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// long selects all test cases instead of a sample.
var long = crashtest.Long()

// afterCrash checks the state that a crash left in step n. All ranks must have checkpoint n or the one before it, with the
// right bytes, and the next differential checkpoint must succeed.
//
// If skip is 1, the next checkpoint gets another id than the interrupted checkpoint. Containers of the interrupted checkpoint
// must then not be mistaken for containers of the next one.
func (m mode) afterCrash(fsys *vfs.Mem, n, skip int) error {
	got, err := m.holdsStep(fsys, 0)
	if err != nil {
		return err
	}
	if got != int32(n) && got != int32(max(n-1, 0)) {
		return fmt.Errorf("checkpoint %d in step %d", got, n)
	}
	next := int(got) + 1 + skip
	if err := m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		for k := next; k < next+2+m.o.Keep; k++ {
			if _, err := m.step(ctx, c, s, k); err != nil {
				return fmt.Errorf("going on with %d: %w", k, err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for k := next; k < next+2+m.o.Keep; k++ {
		if k >= next+2+m.o.Keep-max(m.o.Keep, 1) {
			if _, err := m.holdsStep(fsys, int32(k)); err != nil {
				return fmt.Errorf("after going on: %w", err)
			}
		}
	}
	for f := range Check(context.Background(), "d", &Options{FS: fsys}) {
		if f.Severity > 0 && f.Severity.String() != "note" {
			return fmt.Errorf("after going on: %v", f)
		}
	}
	return nil
}

// TestCrash runs a first checkpoint and checkpoints that grow, shrink and add variables. It cuts the power, or kills the
// program, before every modifying operation.
func TestCrash(t *testing.T) {
	const steps = 8
	for _, m := range crashtest.Some(t, 2, modes) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			every := 4 + 5*(m.ranks-1)
			var now atomic.Int64 // the step
			sc := crashtest.Scenario{
				Every: crashtest.Times(every, 1), Seed: int64(len(m.name)), Torn: crashtest.Times(1, 2), Mark: now.Load,
				Always: func(op vfs.Op) bool { // always test these: they are few, and the order of names depends on them
					return op.Kind == vfs.OpMkdir || op.Kind == vfs.OpRename || op.Kind == vfs.OpSyncDir
				},
				// Run several checkpoints with one store, with restarts in between.
				Run: crashtest.One(func(fsys vfs.FS) error {
					for _, r := range [][2]int{{1, 3}, {4, 5}, {6, steps}} {
						if err := m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
							for n := r[0]; n <= r[1]; n++ {
								if err := c.Barrier(ctx); err != nil {
									return err
								}
								now.Store(int64(n))
								if _, err := m.step(ctx, c, s, n); err != nil {
									return err
								}
							}
							return nil
						}); err != nil {
							return err
						}
					}
					return nil
				}),
			}
			cuts := sc.Cuts(t)
			for i, c := range cuts {
				if err := m.afterCrash(c.Mem[0], int(c.Mark), i%2); err != nil {
					t.Fatalf("step %d, %s: %v", c.Mark, c.When, err)
				}
			}
			if len(cuts) < 40 {
				t.Errorf("%d states", len(cuts))
			}
		})
	}
}

// TestKill: after a kill all earlier writes survive, even if the store syncs nothing (DurableNone).
func TestKill(t *testing.T) {
	for _, m := range crashtest.Some(t, 2, modes) {
		for _, d := range []Durability{DurableCommit, DurableNone} {
			if d != DurableCommit && !long && m.name != "diff" && m.name != "ranks" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", m.name, d), func(t *testing.T) {
				t.Parallel()
				m := m // copy m, because runs with other durabilities share it
				m.o.Durability = d
				died := errors.New("killed")
				var step atomic.Int64
				sc := crashtest.Scenario{Every: crashtest.Times(17, 1), Seed: int64(d), Run: crashtest.One(func(fsys vfs.FS) error {
					step.Store(0)
					return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
						for n := 1; n <= 7; n++ {
							if err := c.Barrier(ctx); err != nil {
								return err
							}
							step.Store(int64(n))
							if _, err := m.step(ctx, c, s, n); err != nil {
								return err
							}
						}
						return nil
					})
				})}
				k := 0
				for f := range sc.Faults(t, crashtest.Dies(died)) {
					if f.Err != nil && !errors.Is(f.Err, died) {
						t.Fatalf("%s: %v", f.When, f.Err)
					}
					// If a rank is killed after the commit, the checkpoint is kept.
					k++
					if err := m.afterCrash(f.Mem[0], int(step.Load()), k%2); err != nil {
						t.Fatalf("step %d, %s: %v", step.Load(), f.When, err)
					}
				}
			})
		}
	}
}

// TestKillThenPower: the program is killed at any operation. Another program opens the store, sees a checkpoint and continues.
// Then the power fails. The store must still have the checkpoint that the second program saw, or a newer one.
func TestKillThenPower(t *testing.T) {
	died := errors.New("killed")
	m := mode{ranks: 1, diff: true}
	base := vfs.NewMem()
	m.steps(t, base, 1, 2)
	sc := crashtest.Scenario{Start: []*vfs.Mem{base}, Every: crashtest.Times(2, 1), Run: crashtest.One(func(fsys vfs.FS) error {
		return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
			_, err := m.step(ctx, c, s, 3)
			return err
		})
	})}
	for f := range sc.Faults(t, crashtest.Dies(died)) {
		saw := int32(-1)
		next := crashtest.Scenario{On: f.Mem, Every: crashtest.Times(3, 1), Seed: f.N, Torn: 1, Mark: func() int64 { return int64(saw) },
			Run: crashtest.One(func(fsys vfs.FS) error {
				return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
					l := s.List()
					saw = l[len(l)-1].ID
					_, err := m.step(ctx, c, s, int(saw)+1)
					return err
				})
			})}
		for _, c := range next.Cuts(t) {
			if got, err := m.holdsStep(c.Mem[0], 0); err != nil || got != saw && got != saw+1 {
				t.Fatalf("%s, saw %d, %s: %d, %v", f.When, saw, c.When, got, err)
			}
		}
	}
}

// TestFaults: every operation fails once, on the rank that executes it. Either all ranks get an error or no rank does.
// Committed checkpoints stay, and the same Store continues unless it is broken.
func TestFaults(t *testing.T) {
	eio := errors.New("input/output error")
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			base := vfs.NewMem()
			m.steps(t, base, 1, 3)
			var outcomes []error
			var opened atomic.Bool
			n := 0
			sc := crashtest.Scenario{Start: []*vfs.Mem{base}, Every: crashtest.Times(6*m.ranks, 1), Run: crashtest.One(func(fsys vfs.FS) error {
				outcomes = make([]error, m.ranks)
				opened.Store(false)
				n++
				return m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
					opened.Store(true)
					_, err := m.step(ctx, c, s, 4)
					outcomes[c.Rank()] = err
					if errors.Is(err, ErrBroken) {
						return nil // the store is broken on all ranks
					}
					if err != nil { // try again with the same store
						if _, err := m.step(ctx, c, s, 4+n%2); err != nil {
							return fmt.Errorf("again: %w", err)
						}
					}
					if _, err := m.step(ctx, c, s, 6); err != nil {
						return fmt.Errorf("the next: %w", err)
					}
					return nil
				})
			})}
			for f := range sc.Faults(t, crashtest.Fails(eio)) {
				at, err := f.When, f.Err
				failed, broken := 0, false
				for _, e := range outcomes {
					if e != nil {
						failed++
						broken = broken || errors.Is(e, ErrBroken)
						if !errors.Is(e, eio) {
							t.Fatalf("%s: %v does not wrap the cause", at, e)
						}
					}
				}
				if failed != 0 && failed != m.ranks {
					t.Fatalf("%s: %d of %d ranks have an error: %v", at, failed, m.ranks, outcomes)
				}
				if err != nil && !errors.Is(err, eio) {
					t.Fatalf("%s: %v", at, err)
				}
				got, herr := m.holdsStep(f.Mem[0], 0)
				if herr != nil {
					t.Fatalf("%s: %v", at, herr)
				}
				switch {
				case err == nil && !broken && got != 6, broken && got != 3 && got != 4, opened.Load() && err != nil && got < 3:
					t.Fatalf("%s: checkpoint %d is there (%v)", at, got, err)
				}
			}
		})
	}
}

// TestDiskFull: a full disk gives an error on all ranks, and the Store continues when there is space again.
func TestDiskFull(t *testing.T) {
	m := mode{ranks: 3, diff: true}
	mem := vfs.NewMem()
	must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		if _, err := m.step(ctx, c, s, 1); err != nil {
			return err
		}
		if c.Rank() == 0 {
			mem.SetCapacity(mem.Used() + 8192)
		}
		must(t, c.Barrier(ctx))
		if _, err := m.step(ctx, c, s, 2); !errors.Is(err, vfs.ErrNoSpace) {
			return fmt.Errorf("%v, want ErrNoSpace on all ranks", err)
		}
		if c.Rank() == 0 {
			mem.SetCapacity(0)
		}
		must(t, c.Barrier(ctx))
		_, err := m.step(ctx, c, s, 2)
		return err
	}))
	if got, err := m.holdsStep(mem, 0); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
}

// TestMarkIsDurableFirst: a power loss keeps some blocks of the last write to a slot, but no unsynced writes to other files. If
// the next checkpoint equals the state of the slot before the loss, it must still write these blocks.
func TestMarkIsDurableFirst(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	m := mode{ranks: 1, diff: true}
	var clones []*vfs.Mem
	armed := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if armed && op.Kind == vfs.OpSync && op.Name == fileName("d", 0, 0) {
			for seed := range int64(40) {
				clones = append(clones, mem.CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}))
			}
		}
		return nil
	})
	data := make([]byte, 64<<10)
	s := m.open(t, fsys, data)
	diffs(t, s, 1, 4)
	armed = true
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	if _, err := s.CheckpointDiff(ctx, 5); err != nil || len(clones) == 0 {
		t.Fatal(len(clones), err)
	}
	for seed, after := range clones {
		clear(data)
		diffs(t, m.open(t, after, data), 5, 5)
		for f := range Check(ctx, "d", &Options{FS: after}) {
			t.Fatalf("seed %d: %v", seed, f)
		}
	}
}
