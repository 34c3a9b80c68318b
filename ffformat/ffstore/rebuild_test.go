package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestRecordLost: if the record of a store is lost or damaged, the store is neither read nor overwritten. Rebuild finds its
// checkpoints.
func TestRecordLost(t *testing.T) {
	for layout := ffformat.LayoutA; layout <= ffformat.LayoutF; layout++ {
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
					want = fault.ErrChecksum
				} else {
					mem.Remove(name)
				}
				if how == "gone, no side files" {
					for r := range 3 {
						mem.Remove(nodeLogName("d", r))
					}
				}
				err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil })
				if !errors.Is(err, want) && !(how == "damaged" && errors.Is(err, fault.ErrNotFormat)) {
					t.Fatalf("Open: %v, want %v", err, want)
				}
				if _, err := OpenView("d", mem); err == nil {
					t.Fatal("a View without a record")
				}
				dry, _, err := Rebuild(context.Background(), "d", &Options{FS: mem, DryRun: true})
				must(t, err)
				list, left, err := Rebuild(context.Background(), "d", &Options{FS: mem})
				if err != nil || fmt.Sprint(list) != fmt.Sprint(dry) {
					t.Fatalf("%v, dry %v: %v", list, dry, err)
				}
				// three slots are usable: the lost record did not list checkpoint 3, but its files are sound
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
				if _, _, err := Rebuild(context.Background(), "d", &Options{FS: mem}); !errors.Is(err, ErrExist) {
					t.Errorf("a sound record is replaced: %v", err)
				}
				m.steps(t, mem, 6, 9)
				m.holds(t, mem, 9)
				checkClean(t, mem)
			})
		}
	}
}

// TestRebuildLeaves: torn, incomplete and mixed slots are not usable.
func TestRebuildLeaves(t *testing.T) {
	for _, how := range []string{"byte", "missing", "mixed", "ranks"} {
		t.Run(how, func(t *testing.T) {
			mem := vfs.NewMem()
			m := mode{ranks: 3, diff: true}
			m.steps(t, mem, 1, 4)
			v, err := OpenView("d", mem)
			must(t, err)
			bad := v.List()[0].Slot
			name := fileName("d", bad, 1)
			b := readAll(t, mem, name)
			switch how {
			case "byte":
				b[700] ^= 1
				writeAll(t, mem, name, b)
			case "missing":
				mem.Remove(name)
			case "mixed":
				writeAll(t, mem, name, readAll(t, mem, fileName("d", 1-bad, 1)))
			case "ranks":
				for r := range 3 {
					writeAll(t, mem, fileName("d", 1-bad, r+3), readAll(t, mem, fileName("d", 1-bad, r)))
				}
			}
			mem.Remove("d/" + recordName)
			list, left, err := Rebuild(context.Background(), "d", &Options{FS: mem})
			if how == "ranks" { // both slots are sound but have different numbers of ranks, and the newer slot decides
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
	if _, _, err := Rebuild(context.Background(), "d", &Options{FS: mem}); !errors.Is(err, ErrMissing) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestRebuildFails: before each operation of Rebuild, the operation fails, the context is cancelled, the power fails, or the
// disk is full. The record is then sound, absent, or still the damaged one. The checkpoint files are unchanged, and another
// Rebuild succeeds.
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
		must(t, base.SyncDir("d"))
		for _, how := range []string{"error", "cancelled", "power cut", "full disk"} {
			failed, done := 0, false
			for n := int64(1); !done; n += int64(crashtest.Times(7, 1)) {
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
							closing = op.Kind == vfs.OpClose || op.Kind == vfs.OpLock // an error here is ignored: closing a file that was only read, or locking again
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
				_, _, err := Rebuild(ctx, "d", &Options{FS: fsys, Workers: 1})
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
					if _, _, err := Rebuild(context.Background(), "d", &Options{FS: mem}); err != nil {
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

// TestRebuildMeanwhile: without locks, Rebuild does not overwrite a record that appears or changes while it examines the slots.
func TestRebuildMeanwhile(t *testing.T) {
	for _, how := range []string{"gone", "damaged", "forced"} {
		t.Run(how, func(t *testing.T) {
			mem := vfs.NewMem()
			m := mode{ranks: 2, diff: true}
			m.steps(t, mem, 1, 4)
			name := "d/" + recordName
			sound := readAll(t, mem, name)
			rec, err := readRecord(mem, "d")
			must(t, err)
			rec.Seq++
			newer, err := rec.encode()
			must(t, err)
			switch how {
			case "gone":
				mem.Remove(name)
			case "damaged":
				writeAll(t, mem, name, sound[:len(sound)-1])
			}
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind == vfs.OpOpen && op.Name == fileName("d", 0, 0) {
					writeAll(t, mem, name, newer)
				}
				return nil
			})
			if _, _, err := Rebuild(context.Background(), "d", &Options{FS: fsys, Force: how == "forced"}); !errors.Is(err, ErrInUse) {
				t.Errorf("%v, want ErrInUse", err)
			}
			if !bytes.Equal(readAll(t, mem, name), newer) {
				t.Error("the new record is gone")
			}
		})
	}
}
