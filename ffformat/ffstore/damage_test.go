package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// steps runs checkpoints from ... to with one store.
func (m mode) steps(t testing.TB, fsys vfs.FS, from, to int) {
	t.Helper()
	if err := m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		for n := from; n <= to; n++ {
			if _, err := m.step(ctx, c, s, n); err != nil {
				return fmt.Errorf("checkpoint %d: %w", n, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// holds fails unless the newest checkpoint is id, with the right bytes.
func (m mode) holds(t testing.TB, fsys vfs.FS, id int) {
	t.Helper()
	if got, err := m.holdsStep(fsys, 0); err != nil || got != int32(id) {
		t.Fatalf("checkpoint %d, want %d: %v", got, id, err)
	}
}

func readAll(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeAll(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	fsys.Remove(name)
	if err := vfs.WriteFile(fsys, name, b); err != nil {
		t.Fatal(err)
	}
}

// TestRecordLost: without its record, or with a damaged one, a store is neither read nor
// overwritten, and Rebuild finds what is there.
func TestRecordLost(t *testing.T) {
	for _, layout := range ffformat.Layouts() {
		for _, how := range []string{"gone", "damaged", "gone, no side files"} {
			t.Run(fmt.Sprintf("%v/%s", layout, how), func(t *testing.T) {
				mem := vfs.NewMem()
				m := mode{ranks: 3, diff: true, o: Options{Keep: 2, Layout: layout}}
				m.steps(t, mem, 1, 5)
				name, want := "d/"+recordName, ErrMissing
				b := readAll(t, mem, name)
				if how == "damaged" {
					b[len(b)/2] ^= 4
					writeAll(t, mem, name, b)
					want = ErrChecksum
				} else {
					mem.Remove(name)
				}
				if how == "gone, no side files" {
					for r := range 3 {
						mem.Remove(nodeLogName("d", r))
					}
				}
				err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil })
				if !errors.Is(err, want) && !(how == "damaged" && errors.Is(err, ErrNotFormat)) {
					t.Fatalf("Open: %v, want %v", err, want)
				}
				if _, err := OpenView("d", mem); err == nil {
					t.Fatal("a View without a record")
				}
				dry, _, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem, DryRun: true})
				if err != nil {
					t.Fatal(err)
				}
				list, left, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem})
				if err != nil || fmt.Sprint(list) != fmt.Sprint(dry) {
					t.Fatalf("%v, dry %v: %v", list, dry, err)
				}
				// three slots: checkpoint 3 was not listed any more, and is whole
				if len(list) != 3 || len(left) != 0 {
					t.Fatalf("%v, left %v", list, left)
				}
				if how != "gone, no side files" {
					for i, x := range list {
						if x.ID != int32(3+i) || x.Time.Before(testTime) || x.Time.After(testTime.Add(time.Second)) {
							t.Errorf("%+v", x)
						}
						if _, err := m.holdsStep(mem, x.ID); err != nil {
							t.Error(err)
						}
					}
					m.holds(t, mem, 5)
				}
				if _, _, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem}); !errors.Is(err, ErrExist) {
					t.Errorf("a sound record is replaced: %v", err)
				}
				m.steps(t, mem, 6, 9)
				m.holds(t, mem, 9)
				checkClean(t, mem)
			})
		}
	}
}

// TestRebuildLeaves: slots that are torn, incomplete or mixed do not count.
func TestRebuildLeaves(t *testing.T) {
	for _, how := range []string{"byte", "missing", "mixed", "ranks"} {
		t.Run(how, func(t *testing.T) {
			mem := vfs.NewMem()
			m := mode{ranks: 3, diff: true}
			m.steps(t, mem, 1, 4)
			v, err := OpenView("d", mem)
			if err != nil {
				t.Fatal(err)
			}
			bad := v.List()[0].Slot
			name := FileName("d", bad, 1)
			b := readAll(t, mem, name)
			switch how {
			case "byte":
				b[700] ^= 1
				writeAll(t, mem, name, b)
			case "missing":
				mem.Remove(name)
			case "mixed":
				writeAll(t, mem, name, readAll(t, mem, FileName("d", 1-bad, 1)))
			case "ranks":
				for r := range 3 {
					writeAll(t, mem, FileName("d", 1-bad, r+3), readAll(t, mem, FileName("d", 1-bad, r)))
				}
			}
			mem.Remove("d/" + recordName)
			list, left, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem})
			if how == "ranks" { // both are whole, of different numbers of ranks: the newer one decides
				if err != nil || len(list) != 1 || list[0].ID != 4 || len(left) != 1 {
					t.Fatalf("%v, %v, %v", list, left, err)
				}
				m.holds(t, mem, 4)
				return
			}
			if err != nil || len(list) != 1 || list[0].ID != 3 || len(left) != 1 {
				t.Fatalf("%v, %v, %v", list, left, err)
			}
			m.holds(t, mem, 3)
		})
	}
	mem := vfs.NewMem()
	mem.Mkdir("d")
	if _, _, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem}); !errors.Is(err, ErrMissing) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestRebuildFails: Rebuild fails, is cancelled or loses its power before each of its operations, or
// the disk is full. The record is then whole, or not there, or the damaged one; the files of checkpoints
// are as they were; and another Rebuild makes it.
func TestRebuildFails(t *testing.T) {
	eio := errors.New("input/output error")
	m := mode{ranks: 2, diff: true}
	for _, damaged := range []bool{false, true} {
		base := vfs.NewMem()
		m.steps(t, base, 1, 4)
		name := "d/" + recordName
		if damaged {
			b := readAll(t, base, name)
			b[20] ^= 1
			writeAll(t, base, name, b)
		} else {
			base.Remove(name)
		}
		if err := base.SyncDir("d"); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"error", "cancelled", "power cut", "full disk"} {
			failed, done := 0, false
			for n := int64(1); !done; n++ {
				mem := base.CrashClone(vfs.CrashOptions{})
				ctx, cancel := context.WithCancel(context.Background())
				ops, cut, closing := int64(0), mem, false
				var failing vfs.Op
				fsys := vfs.NewFault(mem, func(op vfs.Op) error {
					if op.Name != "" && strings.HasSuffix(op.Name, ".fti") && op.Kind.Changes() {
						t.Errorf("%v", op)
					}
					if ops++; ops == n {
						switch how {
						case "error":
							failing = op
							closing = op.Kind == vfs.OpClose || op.Kind == vfs.OpLock // of what was only read; it is locked again
							return eio
						case "cancelled":
							cancel()
						case "power cut":
							cut = mem.CrashClone(vfs.CrashOptions{})
						}
					}
					return nil
				})
				if how == "full disk" {
					mem.SetCapacity(max(1, mem.Used()+(n-1)*64))
				}
				_, _, err := Rebuild(ctx, "d", &RebuildOptions{FS: fsys, Workers: 1})
				cancel()
				done = ops < n
				if how == "full disk" {
					done = err == nil
				}
				if err != nil {
					if failed++; how == "full disk" && !errors.Is(err, vfs.ErrNoSpace) || how == "cancelled" && !errors.Is(err, context.Canceled) {
						t.Errorf("%s at %d: %v", how, n, err)
					}
				} else if how == "error" && !done && !closing {
					t.Errorf("operation %d fails, and nobody is told: %v", n, failing)
				}
				if how == "power cut" && !done {
					mem = cut
				}
				mem.SetCapacity(0)
				rec, rerr := readRecord(mem, "d")
				if rerr != nil && !damaged || rec == nil && rerr == nil && err == nil && (how != "power cut" || done) {
					t.Fatalf("%s at %d: %v, and the record is %v, %v", how, n, err, rec, rerr)
				}
				if rec == nil {
					if _, _, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: mem}); err != nil {
						t.Fatalf("%s at %d, again: %v", how, n, err)
					}
				}
				m.holds(t, mem, 4)
			}
			if failed == 0 && how != "power cut" {
				t.Errorf("%s: nothing failed", how)
			}
		}
	}
}

// TestRebuildMeanwhile: where there are no locks, a record that appears or is replaced while the slots
// are examined is not overwritten.
func TestRebuildMeanwhile(t *testing.T) {
	for _, how := range []string{"gone", "damaged", "forced"} {
		t.Run(how, func(t *testing.T) {
			mem := vfs.NewMem()
			m := mode{ranks: 2, diff: true}
			m.steps(t, mem, 1, 4)
			name := "d/" + recordName
			sound := readAll(t, mem, name)
			rec, err := readRecord(mem, "d")
			if err != nil {
				t.Fatal(err)
			}
			rec.Seq++
			newer, err := rec.encode()
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "gone":
				mem.Remove(name)
			case "damaged":
				writeAll(t, mem, name, sound[:len(sound)-1])
			}
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind == vfs.OpOpen && op.Name == FileName("d", 0, 0) {
					writeAll(t, mem, name, newer)
				}
				return nil
			})
			if _, _, err := Rebuild(context.Background(), "d", &RebuildOptions{FS: fsys, Force: how == "forced"}); !errors.Is(err, ErrInUse) {
				t.Errorf("%v, want ErrInUse", err)
			}
			if !bytes.Equal(readAll(t, mem, name), newer) {
				t.Error("the new record is gone")
			}
		})
	}
}

// TestFileReplaced: a file that is sound, and of the right checkpoint, but of another rank, or of
// another time, is not taken.
func TestFileReplaced(t *testing.T) {
	for _, layout := range ffformat.Layouts() {
		mem := vfs.NewMem()
		m := mode{ranks: 3, diff: true, o: Options{Keep: 2, Layout: layout}}
		m.steps(t, mem, 4, 4)
		m.steps(t, mem, 16, 16) // the same sizes
		l := mustView(t, mem).List()
		slot := l[len(l)-1].Slot
		for _, from := range []string{FileName("d", slot, 2), FileName("d", 1-slot, 1)} {
			after := mem.CrashClone(vfs.CrashOptions{})
			writeAll(t, after, FileName("d", slot, 1), readAll(t, mem, from))
			field := "metadata"
			if from == FileName("d", 1-slot, 1) {
				if field = "FB.timestamp"; hasID(layout) {
					field = "FB.ckptId"
				}
			}
			if _, err := mustView(t, after).Reader(16, 1); err == nil || !strings.Contains(err.Error(), field) {
				t.Fatalf("%v: %s for the file of rank 1: %v, want an error about %s", layout, from, err, field)
			}
			err := m.run(after, func(ctx context.Context, c comm.Comm, s *Store) error {
				for _, id := range varsAt(4) {
					s.Protect(id, make([]byte, len(content(c.Rank(), id, 4))))
				}
				id, skipped, err := s.Recover(ctx)
				if err != nil || id != 4 || len(skipped) != 1 {
					return fmt.Errorf("recovered %d, skipped %v: %w", id, skipped, err)
				}
				// what came after makes way, and the same id can be written again
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

func mustView(t testing.TB, fsys vfs.FS) *View {
	t.Helper()
	v, err := OpenView("d", fsys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDamageIsNotKept: bytes that are bad in a file are not what the side file says; the next
// differential checkpoints into this slot must not rely on it, nor after another restart.
func TestDamageIsNotKept(t *testing.T) {
	for _, how := range []struct{ running, again bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		mem := vfs.NewMem()
		ctx := context.Background()
		m := mode{ranks: 1, diff: true}
		data := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
		s, err := Open(ctx, comm.Self(), "d", m.options(mem))
		if err != nil {
			t.Fatal(err)
		}
		s.Protect(1, data)
		for id := int32(1); id <= 2; id++ {
			if _, err := s.CheckpointDiff(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		slot := s.List()[0].Slot
		b := readAll(t, mem, FileName("d", slot, 0))
		b[5000] ^= 1
		writeAll(t, mem, FileName("d", slot, 0), b)
		if !how.running {
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(ctx, comm.Self(), "d", m.options(mem)); err != nil {
				t.Fatal(err)
			}
		}
		s.Protect(1, bytes.Clone(data))
		if id, skipped, err := s.Recover(ctx); err != nil || id != 1 || len(skipped) != 1 || !errors.Is(skipped[0], ErrChecksum) {
			t.Fatal(id, skipped, err)
		}
		s.Protect(1, data)
		for id := int32(3); id <= 4; id++ {
			if _, err := s.CheckpointDiff(ctx, id); err != nil {
				t.Fatal(err)
			}
			if how.again {
				if err := s.Close(ctx); err != nil {
					t.Fatal(err)
				}
				if s, err = Open(ctx, comm.Self(), "d", m.options(mem)); err != nil {
					t.Fatal(err)
				}
				s.Protect(1, data)
			}
		}
		checkClean(t, mem)
	}
}

// TestRestartFromOlder: the program goes on from an older checkpoint, and what came after it makes
// way, in one commit.
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
	if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		if _, err := m.step(ctx, c, s, 7); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("7 after 8: %v", err)
		}
		for _, id := range varsAt(6) {
			s.Protect(id, make([]byte, len(content(c.Rank(), id, 6))))
		}
		if err := s.RecoverID(ctx, 6); err != nil {
			return err
		}
		for _, id := range varsAt(6) {
			if !bytes.Equal(s.data[id], content(c.Rank(), id, 6)) {
				return fmt.Errorf("variable %d", id)
			}
		}
		_, err := m.step(ctx, c, s, 7)
		return err
	}); err != nil {
		t.Fatal(err)
	}
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

// TestKeepChanges: more and fewer are kept than before; what the record lists is there at every
// moment, and slots that are not needed go.
func TestKeepChanges(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true}
	n := 1
	for _, keep := range []int{1, 4, 4, 2, 1, 3, 1, 1} {
		m.o.Keep = keep
		for range 3 {
			m.steps(t, mem, n, n)
			l := mustView(t, mem).List()
			if len(l) > keep {
				t.Fatalf("%d kept, want %d", len(l), keep)
			}
			for _, x := range l {
				if _, err := m.holdsStep(mem, x.ID); err != nil {
					t.Fatal(err)
				}
			}
			n++
		}
	}
	m.steps(t, mem, n, n+1)
	slots, err := slotDirs(mem, "d")
	if err != nil || len(slots) != 2 {
		t.Errorf("slots %v, %v", slots, err)
	}
	checkClean(t, mem)
}

// TestUnprotected: a variable that is not protected any more has no bytes in what follows.
func TestUnprotected(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	m := mode{diff: true}
	for round := range 3 {
		s, err := Open(ctx, comm.Self(), "d", m.options(mem))
		if err != nil {
			t.Fatal(err)
		}
		s.Protect(1, bytes.Repeat([]byte{1}, 2000))
		if round == 0 {
			s.Protect(2, bytes.Repeat([]byte{2}, 3000))
		}
		s.Protect(3, nil)
		if _, err := s.CheckpointDiff(ctx, int32(round+1)); err != nil {
			t.Fatal(err)
		}
		clear(s.data[1])
		if _, _, err := s.Recover(ctx); err != nil || s.data[1][7] != 1 {
			t.Fatal(err)
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	checkClean(t, mem)
}

// TestNothingProtected: a checkpoint of no variables is one.
func TestNothingProtected(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	s, err := Open(ctx, comm.Self(), "d", mode{}.options(mem))
	if err != nil {
		t.Fatal(err)
	}
	for id := int32(1); id <= 3; id++ {
		if _, err := s.CheckpointDiff(ctx, id); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.Recover(ctx); err != nil || got != id {
			t.Fatal(got, err)
		}
	}
	checkClean(t, mem)
}

// TestCheckFinds: what is wrong beside the files.
func TestCheckFinds(t *testing.T) {
	for how, f := range map[string]func(mem *vfs.Mem){
		"missing":     func(mem *vfs.Mem) { mem.Remove(FileName("d", 1, 1)) },
		"no record":   func(mem *vfs.Mem) { mem.Remove(filepath.Join("d", recordName)) },
		"side file":   func(mem *vfs.Mem) { mem.Remove(nodeLogName("d", 0)) },
		"left record": func(mem *vfs.Mem) { writeAll(t, mem, durable.HiddenName("d/"+recordName, durable.NewID()), nil) },
		"slot 9":      func(mem *vfs.Mem) { mem.Mkdir("d/slot9") },
		"metadata": func(mem *vfs.Mem) {
			b := readAll(t, mem, FileName("d", 1, 1))
			b[len(b)-60] ^= 1
			writeAll(t, mem, FileName("d", 1, 1), b)
		},
	} {
		mem := vfs.NewMem()
		m := mode{ranks: 2, diff: true}
		m.steps(t, mem, 1, 2)
		checkClean(t, mem)
		f(mem)
		n := 0
		for x := range Check(context.Background(), "d", &CheckOptions{FS: mem}) {
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
	for x := range Check(ctx, "d", &CheckOptions{FS: mem}) {
		if !errors.Is(x.Err, context.Canceled) && !strings.Contains(x.Msg, "cancel") {
			t.Errorf("%v", x)
		}
		n++
	}
	if n == 0 {
		t.Error("Check that was cancelled looks clean")
	}
}
