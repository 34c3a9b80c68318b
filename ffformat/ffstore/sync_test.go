package ffstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// lateErrors is a file system that writes later: of a write that fails then, only the next Sync tells
// those who still have the file open. Who closes it before is not told.
type lateErrors struct {
	name string // of the file whose first write fails
	err  error

	mu    sync.Mutex
	wrote bool
	owed  bool
}

func (l *lateErrors) hook(op vfs.Op) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.Name != l.name {
		return nil
	}
	switch op.Kind {
	case vfs.OpWrite:
		l.owed = l.owed || !l.wrote
		l.wrote = true
	case vfs.OpSync:
		if l.owed {
			l.owed = false
			return l.err
		}
	case vfs.OpClose:
		l.owed = false
	}
	return nil
}

// TestParkSyncs: a file that is closed between two Adds, because too many would be open, is synced
// before: an error of its writes reaches Commit, on all ranks, and nothing is committed.
func TestParkSyncs(t *testing.T) {
	late := &lateErrors{name: FileName("d", 0, 1), err: errors.New("input/output error")}
	mem := vfs.NewMem()
	m := mode{ranks: 3, diff: true, incr: true, o: Options{maxOpen: 1}}
	must(t, m.run(vfs.NewFault(mem, late.hook), func(ctx context.Context, c comm.Comm, s *Store) error {
		must(t, protectStep(s, c.Rank(), 1))
		inc, err := s.Begin(ctx, 1, true)
		must(t, err)
		var added error
		for _, id := range varsAt(1) {
			added = errors.Join(added, inc.Add(ctx, id))
		}
		if _, err := inc.Commit(ctx); err == nil || c.Rank() == 1 && !errors.Is(added, late.err) {
			return fmt.Errorf("rank %d: Add: %v, Commit: %v", c.Rank(), added, err)
		}
		if len(s.List()) != 0 {
			return errors.New("it is committed")
		}
		_, err = m.step(ctx, c, s, 1)
		return err
	}))
	if !late.wrote {
		t.Error("the write was not seen")
	}
	m.holds(t, mem, 1)
}

// TestDigestsAreDurable: what a checkpoint appends to the side files survives a power loss behind it, so that the next
// checkpoint is not a full one.
func TestDigestsAreDurable(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 3, diff: true}
	m.steps(t, mem, 1, 4)
	after := mem.CrashClone(vfs.CrashOptions{})
	if err := m.run(after, func(ctx context.Context, c comm.Comm, s *Store) error {
		st, err := m.step(ctx, c, s, 5)
		if err == nil && st.Dirty >= st.Blocks {
			err = fmt.Errorf("%+v: nothing was spared", st)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestDirectoryNotShared: ranks whose node has a directory of its own under the name of the store's are
// told so.
func TestDirectoryNotShared(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.Mkdir("n1"))
	must(t, mem.Mkdir("n1/d"))
	err := comm.Run(context.Background(), 2, &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		var fsys vfs.FS = mem
		if c.Rank() == 1 {
			fsys = vfs.NewBind(mem, []vfs.Bind{{At: "d", To: "n1/d"}})
		}
		s, err := Open(ctx, c, "d", mode{}.options(fsys))
		must(t, err)
		s.Protect(1, make([]byte, 100))
		_, err = s.Checkpoint(ctx, 1)
		if err == nil || !strings.Contains(err.Error(), "all ranks must see the directory") {
			return fmt.Errorf("rank %d: %v", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
