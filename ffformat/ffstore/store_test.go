package ffstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// TestStoreSteps: at every step, every kept checkpoint can be recovered with the same Store, with a new Store after a restart,
// and by a View. Differential checkpoints write less than full ones.
func TestStoreSteps(t *testing.T) {
	for _, m := range modes {
		for _, isolate := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/isolate=%v/restart=%v", m.name, isolate, restart), func(t *testing.T) {
					mem := vfs.NewMem()
					run := func(from, to int) {
						err := comm.Run(context.Background(), m.ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
							if isolate {
								c = commtest.Isolate(c)
							}
							s, err := Open(ctx, c, "d", m.options(mem))
							must(t, err)
							for n := from; n <= to; n++ {
								st, err := m.step(ctx, c, s, n)
								must(t, err)
								if m.diff && n > 6 && st.Dirty >= st.Blocks {
									return fmt.Errorf("checkpoint %d: %+v: nothing was spared", n, st)
								}
							}
							return s.Close(ctx)
						})
						must(t, err)
					}
					for n := 1; n <= 9; n++ {
						if restart {
							run(n, n)
						} else if n == 9 {
							run(1, 9)
						} else {
							continue
						}
						if got, err := m.holdsStep(mem, 0); err != nil || got != int32(n) {
							t.Fatalf("checkpoint %d: %d, %v", n, got, err)
						}
						checkClean(t, mem)
					}
					v, err := OpenView("d", mem)
					must(t, err)
					if n := len(v.List()); n != max(m.o.Keep, 1) {
						t.Errorf("%d checkpoints kept", n)
					}
					for _, i := range v.List() {
						if _, err := m.holdsStep(mem, i.ID); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
}

// TestStoreFiles checks the number of files.
func TestStoreFiles(t *testing.T) {
	m := mode{ranks: 5, diff: true}
	mem := vfs.NewMem()
	m.steps(t, mem, 1, 4)
	count := map[string]int{}
	for _, dir := range []string{"d", "d/slot0", "d/slot1"} {
		l, err := mem.ReadDir(dir)
		must(t, err)
		for _, e := range l {
			if !e.IsDir() {
				count[dir]++
			}
		}
	}
	// 5 ranks on 3 nodes: a file per rank and slot, a side file per node, the record
	if count["d"] != 4 || count["d/slot0"] != 5 || count["d/slot1"] != 5 {
		t.Errorf("%v", count)
	}
}

// TestStoreMoved: if ranks move to other nodes, they find their digests.
func TestStoreMoved(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{diff: true}
	run := func(perNode, n int, spared bool) {
		t.Helper()
		err := comm.Run(context.Background(), 6, &comm.Options{RanksPerNode: perNode}, func(ctx context.Context, c comm.Comm) error {
			s, err := Open(ctx, c, "d", m.options(mem))
			must(t, err)
			st, err := m.step(ctx, c, s, n)
			must(t, err)
			if spared != (st.Dirty < st.Blocks) {
				return fmt.Errorf("checkpoint %d with %d ranks per node: %+v", n, perNode, st)
			}
			return s.Close(ctx)
		})
		must(t, err)
	}
	run(2, 1, false)
	run(2, 2, false)
	run(2, 3, true)
	run(3, 4, true)
	run(1, 5, true)
	run(6, 6, true)
	logs, err := nodeLogs(mem, "d")
	if err != nil || len(logs) != 1 {
		t.Errorf("%v, %v", logs, err)
	}
	m.ranks = 6
	if _, err := m.holdsStep(mem, 6); err != nil {
		t.Error(err)
	}
}

// TestRestartFromOlder: the program continues from an older checkpoint. The next commit drops all newer checkpoints at once.
func TestRestartFromOlder(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true, o: Options{Keep: 3}}
	m.steps(t, mem, 1, 8)
	ids := func() (l []int32) {
		for _, x := range mustView(t, mem).List() {
			l = append(l, x.ID)
		}
		return l
	}
	must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		if _, err := m.step(ctx, c, s, 7); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("7 after 8: %v", err)
		}
		must(t, protectEmpty(s, c.Rank(), 6))
		must(t, s.RecoverID(ctx, 6))
		must(t, hasStep(s, c.Rank(), 6))
		_, err := m.step(ctx, c, s, 7)
		return err
	}))
	if got := fmt.Sprint(ids()); got != "[6 7]" {
		t.Errorf("%s", got)
	}
	m.holds(t, mem, 7)
	m.steps(t, mem, 8, 9)
	if got := fmt.Sprint(ids()); got != "[7 8 9]" {
		t.Errorf("%s", got)
	}
	for _, id := range ids() {
		if _, err := m.holdsStep(mem, id); err != nil {
			t.Error(err)
		}
	}
	checkClean(t, mem)
}
