package ffstore

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// far is a file system that several machines share. Its locks do not work between machines.
type far struct{ vfs.FS }

func (far) Local(string) bool { return false }

func (f far) Create(name string) (vfs.File, error) { return hide(f.FS.Create(name)) }
func (f far) Open(name string) (vfs.File, error)   { return hide(f.FS.Open(name)) }
func (f far) OpenRW(name string) (vfs.File, error) { return hide(f.FS.OpenRW(name)) }

func hide(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return struct{ vfs.File }{f}, nil
}

// openOn opens the store as a process on a machine.
func openOn(t *testing.T, fsys vfs.FS, machine string, beat time.Duration) *Store {
	t.Helper()
	s, err := Open(t.Context(), comm.Self(), "d", mode{diff: true}.options(fsys))
	must(t, err)
	s.ledger.leasing = durable.LeaseOptions{Boot: machine, Beat: beat}
	return s
}

// TestLeaseFar: if locks do not reach other machines, the heartbeat of a writer keeps other writers out, and the error names the
// writer.
func TestLeaseFar(t *testing.T) {
	crashtest.Bubble(t, func(t *testing.T) {
		ctx := context.Background()
		fsys := far{vfs.NewMem()}
		a, b := openOn(t, fsys, "a", 0), openOn(t, fsys, "b", 0)
		for _, s := range []*Store{a, b} {
			s.Protect(1, []byte("abc"))
		}
		if _, err := a.Checkpoint(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Checkpoint(ctx, 2); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), ", process ") {
			t.Errorf("%v, want ErrInUse and the process", err)
		}
		must(t, errors.Join(a.Close(ctx), b.Close(ctx)))
		if _, state, err := durable.Inspect(fsys, "d/"+recordName); state != durable.NoHolder || err != nil {
			t.Errorf("after Close: %v, %v", state, err)
		}
	})
}

// TestLeaseWoken: a writer stops for so long that another machine takes over. When the first writer continues, it fails. Neither
// its writes to open files nor its rename of a record damages the other writer's data.
func TestLeaseWoken(t *testing.T) {
	for _, when := range []string{"in the slot", "while the other writes", "before the rename"} {
		t.Run(when, func(t *testing.T) {
			crashtest.Bubble(t, func(t *testing.T) {
				ctx := context.Background()
				mem := vfs.NewMem()
				data := func(id byte) []byte { return bytes.Repeat([]byte{id}, 40<<10) }
				other := func() (finish func()) {
					b := openOn(t, far{mem}, "b", 0)
					b.Protect(1, data(9))
					inc, err := b.Begin(ctx, 3, true)
					must(t, err)
					return func() {
						err := inc.Add(ctx, 1)
						if err == nil {
							_, err = inc.Commit(ctx)
						}
						if err = errors.Join(err, b.Close(ctx)); err != nil {
							t.Error(err)
						}
					}
				}
				armed := false
				slow := vfs.NewFault(mem, func(op vfs.Op) error {
					if armed && op.Kind == vfs.OpRename && op.New == "d/"+recordName {
						armed = false
						other()()
					}
					return nil
				})
				a := openOn(t, far{slow}, "a", 1000*time.Hour)
				for id := byte(1); id <= 2; id++ {
					a.Protect(1, data(id))
					if _, err := a.CheckpointDiff(ctx, int32(id)); err != nil {
						t.Fatal(err)
					}
				}
				a.Protect(1, data(3))
				inc, err := a.Begin(ctx, 3, true)
				must(t, err)
				finish := func() {}
				switch when {
				case "in the slot":
					other()()
				case "while the other writes":
					finish = other()
				default:
					armed = true
				}
				err = inc.Add(ctx, 1)
				if err == nil {
					_, err = inc.Commit(ctx)
				}
				if err == nil {
					t.Error("the writer that has lost its lease has committed")
				} else if when != "before the rename" && (!errors.Is(err, ErrBroken) || !errors.Is(err, ErrInUse) ||
					!strings.Contains(err.Error(), "earlier commits of this Store remain valid")) { // in this case the outcome is unknown
					t.Errorf("the writer that has lost its lease: %v", err)
				}
				_ = a.Close(ctx)
				finish()
				v, err := OpenView("d", mem)
				if err != nil || len(v.List()) == 0 || v.List()[0].ID != 3 {
					t.Fatalf("%v", err)
				}
				checkQuiet(t, mem)
				r, file, err := v.Reader(3, 0)
				must(t, err)
				defer file.Close()
				got := make([]byte, 40<<10)
				if err := r.ReadVar(ctx, 1, got); err != nil || !bytes.Equal(got, data(9)) {
					t.Errorf("the other writer's checkpoint: %v, begins with %d", err, got[0])
				}
			})
		})
	}
}

// TestLeaseOfTheDead: the next commit removes files that dead writers of this version and older versions left behind.
func TestLeaseOfTheDead(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 1, diff: true}
	m.steps(t, mem, 1, 1)
	for _, name := range []string{durable.HiddenName("d/"+recordName, durable.NewID()), durable.TempName("d/"+recordName, writer)} {
		writeAll(t, mem, name, []byte("a record"))
	}
	writeAll(t, mem, durable.LockName("d/"+recordName), []byte("torn"))
	m.steps(t, mem, 2, 2)
	l, err := mem.ReadDir("d")
	must(t, err)
	for _, e := range l {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestLeaseUnread: a single failed read of the lease fails one checkpoint but does not break the store.
func TestLeaseUnread(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	failing := false
	s := openOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if failing && op.Name == durable.LockName("d/"+recordName) {
			failing = false
			return errors.New("a bad moment")
		}
		return nil
	}), "a", 0)
	s.Protect(1, []byte("abc"))
	for id := int32(1); id <= 3; id++ {
		failing = id == 2
		if _, err := s.Checkpoint(ctx, id); (err != nil) != (id == 2) {
			t.Errorf("checkpoint %d: %v", id, err)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}
