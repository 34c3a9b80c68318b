package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestFileReplaced: a sound file is refused if it belongs to another rank or was written at another time.
func TestFileReplaced(t *testing.T) {
	for layout := ffformat.LayoutA; layout <= ffformat.LayoutF; layout++ {
		mem := vfs.NewMem()
		m := mode{ranks: 3, diff: true, o: Options{Keep: 2, Layout: layout}}
		m.steps(t, mem, 4, 4)
		m.steps(t, mem, 16, 16) // checkpoint 16 again, so the sizes are the same
		l := mustView(t, mem).List()
		slot := l[len(l)-1].Slot
		for _, from := range []string{fileName("d", slot, 2), fileName("d", 1-slot, 1)} {
			after := mem.CrashClone(vfs.CrashOptions{})
			writeAll(t, after, fileName("d", slot, 1), readAll(t, mem, from))
			field := "metadata"
			if from == fileName("d", 1-slot, 1) {
				if field = "FB.timestamp"; hasID(layout) {
					field = "FB.ckptId"
				}
			}
			if _, _, err := mustView(t, after).Reader(16, 1); err == nil || !strings.Contains(err.Error(), field) {
				t.Fatalf("%v: %s for the file of rank 1: %v, want an error about %s", layout, from, err, field)
			}
			err := m.run(after, func(ctx context.Context, c comm.Comm, s *Store) error {
				if err := m.recoverStep(ctx, c, s, 4, 1); err != nil {
					return err
				}
				// newer checkpoints are dropped, and their ids can be used again
				for n := 16; n < 20; n++ {
					if _, err := m.step(ctx, c, s, n); err != nil {
						return err
					}
					if l := s.List(); l[0].ID != int32(max(n-1, 4)) && n != 16 || l[len(l)-1].ID != int32(n) {
						return fmt.Errorf("%v", l)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%v: %v", layout, err)
			}
			m.holds(t, after, 19)
			checkClean(t, after)
		}
	}
}

// TestDamageIsNotKept: a file is damaged, so its bytes differ from the digests in the side file. The next differential
// checkpoints into this slot must not rely on the digests, even after another restart.
func TestDamageIsNotKept(t *testing.T) {
	for _, how := range []struct{ running, again bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		mem := vfs.NewMem()
		ctx := context.Background()
		m := mode{ranks: 1, diff: true}
		data := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
		s := m.open(t, mem, data)
		diffs(t, s, 1, 2)
		slot := s.List()[0].Slot
		b := readAll(t, mem, fileName("d", slot, 0))
		b[5000] ^= 1
		writeAll(t, mem, fileName("d", slot, 0), b)
		if !how.running {
			must(t, s.Close(ctx))
			s = m.open(t, mem, nil)
		}
		s.Protect(1, bytes.Clone(data))
		if id, skipped, err := s.Recover(ctx); err != nil || id != 1 || len(skipped) != 1 || !errors.Is(skipped[0], fault.ErrChecksum) {
			t.Fatal(id, skipped, err)
		}
		s.Protect(1, data)
		for id := int32(3); id <= 4; id++ {
			diffs(t, s, id, id)
			if how.again {
				must(t, s.Close(ctx))
				s = m.open(t, mem, data)
			}
		}
		checkClean(t, mem)
	}
}

// TestCheckFinds: Check finds faults in the record, the side files and other files.
func TestCheckFinds(t *testing.T) {
	for how, f := range map[string]func(mem *vfs.Mem){
		"missing":     func(mem *vfs.Mem) { mem.Remove(fileName("d", 1, 1)) },
		"no record":   func(mem *vfs.Mem) { mem.Remove(filepath.Join("d", recordName)) },
		"side file":   func(mem *vfs.Mem) { mem.Remove(nodeLogName("d", 0)) },
		"left record": func(mem *vfs.Mem) { writeAll(t, mem, durable.HiddenName("d/"+recordName, durable.NewID()), nil) },
		"slot 9":      func(mem *vfs.Mem) { mem.Mkdir("d/slot9") },
		"metadata": func(mem *vfs.Mem) {
			b := readAll(t, mem, fileName("d", 1, 1))
			b[len(b)-60] ^= 1
			writeAll(t, mem, fileName("d", 1, 1), b)
		},
	} {
		mem := vfs.NewMem()
		m := mode{ranks: 2, diff: true}
		m.steps(t, mem, 1, 2)
		checkClean(t, mem)
		f(mem)
		n := 0
		for x := range Check(context.Background(), "d", &Options{FS: mem}) {
			t.Logf("%s: %v", how, x)
			n++
			if _, err := x.MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing found", how)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mem := vfs.NewMem()
	mode{ranks: 1}.steps(t, mem, 1, 1)
	n := 0
	for x := range Check(ctx, "d", &Options{FS: mem}) {
		if !errors.Is(x.Err, context.Canceled) && !strings.Contains(x.Msg, "cancel") {
			t.Errorf("%v", x)
		}
		n++
	}
	if n == 0 {
		t.Error("Check that was cancelled looks clean")
	}
}

// TestRecoverPassingError: an I/O error is not damage. All ranks return it. Recover must not fall back to an older checkpoint,
// because the next commit would then drop the newest one.
func TestRecoverPassingError(t *testing.T) {
	eio := errors.New("input/output error")
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true, o: Options{Keep: 2}}
	m.steps(t, mem, 4, 4)
	m.steps(t, mem, 16, 16) // the same sizes
	l := mustView(t, mem).List()
	name := fileName("d", l[len(l)-1].Slot, 1)
	var armed atomic.Bool
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if armed.Load() && op.Kind == vfs.OpRead && op.Name == name {
			return eio
		}
		return nil
	})
	must(t, m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		must(t, protectEmpty(s, c.Rank(), 16))
		armed.Store(true)
		id, skipped, err := s.Recover(ctx)
		if !errors.Is(err, eio) || id != 0 || len(skipped) != 0 {
			return fmt.Errorf("recovered %d, skipped %v: %w", id, skipped, err)
		}
		must(t, c.Barrier(ctx))
		armed.Store(false)
		must(t, c.Barrier(ctx))
		if id, skipped, err = s.Recover(ctx); err != nil || id != 16 || len(skipped) != 0 {
			return fmt.Errorf("again: %d, skipped %v: %w", id, skipped, err)
		}
		return nil
	}))
}
