package ffstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestSideFile: if the side files are damaged, checkpoints are still right, but may write more data.
func TestSideFile(t *testing.T) {
	hurt := map[string]func(t *testing.T, mem *vfs.Mem, name string, old []byte){
		"gone":  func(t *testing.T, mem *vfs.Mem, name string, _ []byte) { mem.Remove(name) },
		"empty": func(t *testing.T, mem *vfs.Mem, name string, _ []byte) { writeAll(t, mem, name, nil) },
		"half": func(t *testing.T, mem *vfs.Mem, name string, _ []byte) {
			b := readAll(t, mem, name)
			writeAll(t, mem, name, b[:len(b)/2])
		},
		"bit": func(t *testing.T, mem *vfs.Mem, name string, _ []byte) {
			b := readAll(t, mem, name)
			b[len(b)/3] ^= 1
			writeAll(t, mem, name, b)
		},
		"stale":   func(t *testing.T, mem *vfs.Mem, name string, old []byte) { writeAll(t, mem, name, old) },
		"garbage": func(t *testing.T, mem *vfs.Mem, name string, _ []byte) { writeAll(t, mem, name, make([]byte, 5000)) },
		"longer": func(t *testing.T, mem *vfs.Mem, name string, _ []byte) {
			writeAll(t, mem, name, append(readAll(t, mem, name), "FFDR and something that is no record"...))
		},
	}
	for how, f := range hurt {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/running=%v", how, running), func(t *testing.T) {
				mem := vfs.NewMem()
				m := mode{ranks: 2, diff: true}
				m.steps(t, mem, 1, 3)
				name := nodeLogName("d", 0)
				old := readAll(t, mem, name)
				if running {
					must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
						for n := 4; n <= 9; n++ {
							if n == 6 && c.Rank() == 0 {
								f(t, mem, name, old)
							}
							if _, err := m.step(ctx, c, s, n); err != nil {
								return err
							}
						}
						return nil
					}))
				} else {
					m.steps(t, mem, 4, 5)
					f(t, mem, name, old)
					for n := 6; n <= 9; n++ {
						m.steps(t, mem, n, n)
						m.holds(t, mem, n)
					}
				}
				m.holds(t, mem, 9)
				m.steps(t, mem, 10, 12)
				m.holds(t, mem, 12)
				checkClean(t, mem)
			})
		}
	}
}

// TestSideFileAndTornSlot: a side file is truncated or replaced by an older one while a Store writes to it. The digests in this
// side file must not be used for a slot that was torn later.
func TestSideFileAndTornSlot(t *testing.T) {
	for _, stale := range []bool{false, true} {
		t.Run(fmt.Sprintf("stale=%v", stale), func(t *testing.T) { sideFileAndTornSlot(t, stale) })
	}
}

func sideFileAndTornSlot(t *testing.T, stale bool) {
	ctx := context.Background()
	mem := vfs.NewMem()
	died := errors.New("killed")
	var armed bool
	writes := 0
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if armed && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, ".fti") {
			if writes++; writes > 1 {
				return died
			}
		}
		return nil
	})
	m := mode{diff: true}
	data := make([]byte, 64<<10)
	s := m.open(t, fsys, data)
	var ends []int
	var old []byte // the side file at checkpoint 3
	for id := int32(1); id <= 4; id++ {
		diffs(t, s, id, id)
		b := readAll(t, mem, nodeLogName("d", 0))
		if ends = append(ends, len(b)); id == 3 {
			old = b
		}
	}
	if !stale { // truncated after the digests of checkpoint 3, whose slot is written next
		writeAll(t, mem, nodeLogName("d", 0), readAll(t, mem, nodeLogName("d", 0))[:ends[2]])
	}
	data[0], data[9000] = 1, 1
	armed = true
	if _, err := s.CheckpointDiff(ctx, 5); !errors.Is(err, died) {
		t.Fatal(err)
	}
	data[0], data[9000] = 0, 0
	if stale {
		writeAll(t, mem, nodeLogName("d", 0), old)
	}
	must(t, s.Close(ctx))
	diffs(t, m.open(t, mem, data), 5, 5)
	checkClean(t, mem)
}

// TestSlotFileReplacedWhileRunning: another program replaces the Store's file in the slot by an older one.
func TestSlotFileReplacedWhileRunning(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true}
	var old []byte
	must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		for n := 1; n <= 8; n++ {
			if c.Rank() == 1 && n == 4 {
				old = readAll(t, mem, fileName("d", s.ledger.free(), 1))
			}
			if c.Rank() == 1 && n == 8 {
				writeAll(t, mem, fileName("d", s.ledger.free(), 1), old)
			}
			if _, err := m.step(ctx, c, s, n); err != nil {
				return err
			}
		}
		return nil
	}))
	m.holds(t, mem, 8)
	m.steps(t, mem, 9, 10)
	m.holds(t, mem, 10)
	checkClean(t, mem)
}

// TestSlotFileGoneWhileRunning: another program removes the whole slot, or the file of a rank that is not the leader of its node.
// The names of the new files are durable when the checkpoint is committed.
func TestSlotFileGoneWhileRunning(t *testing.T) {
	for _, whole := range []bool{false, true} {
		mem := vfs.NewMem()
		m := mode{ranks: 4, diff: true}
		must(t, m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			for n := 1; n <= 6; n++ {
				if c.Rank() == 0 && n == 6 {
					k := s.ledger.free()
					for r := range 4 {
						if whole || r == 3 {
							mem.Remove(fileName("d", k, r))
						}
					}
					if whole {
						mem.Remove(slotDir("d", k))
					}
					must(t, mem.SyncDir("d"))
				}
				must(t, c.Barrier(ctx))
				if _, err := m.step(ctx, c, s, n); err != nil {
					return err
				}
			}
			return nil
		}))
		after := mem.CrashClone(vfs.CrashOptions{})
		m.holds(t, after, 6)
		checkClean(t, after)
	}
}
