package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestStoreFailureLeavesNoTrace: after a failed or aborted checkpoint, the files are byte for byte as if it had never begun.
func TestStoreFailureLeavesNoTrace(t *testing.T) {
	m := mode{ranks: 2, diff: true}
	var files [2][]byte
	for try := range 2 {
		mem := vfs.NewMem()
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			if _, err := m.step(ctx, c, s, 1); err != nil {
				return err
			}
			if try == 1 {
				s.Protect(1, make([]byte, 100000)) // this variable grows; the checkpoint fails on one rank after the other rank has finished
				inc, err := s.Begin(ctx, 2, true)
				must(t, err)
				for _, id := range s.order[c.Rank():] {
					must(t, inc.Add(ctx, id))
				}
				if _, err := inc.Commit(ctx); !errors.Is(err, fault.ErrUsage) {
					return fmt.Errorf("%v, want fault.ErrUsage", err)
				}
				if inc, err = s.Begin(ctx, 2, true); err != nil {
					return err
				}
				must(t, inc.Add(ctx, 1))
				must(t, inc.Abort(ctx))
			}
			_, err := m.step(ctx, c, s, 2)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for rank := range 2 {
			b, err := vfs.ReadFile(mem, fileName("d", 1, rank), 1<<20)
			must(t, err)
			files[try] = append(files[try], b...)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%d and %d bytes, or other ones", len(files[0]), len(files[1]))
	}
}

// TestStoreOtherContainers: an interrupted checkpoint has added containers. The next checkpoint adds other containers with the
// same numbers.
func TestStoreOtherContainers(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	m := mode{ranks: 1, diff: true}
	died := errors.New("killed")
	two := bytes.Repeat([]byte("abcdefgh"), 700)
	write := func(fsys vfs.FS, id int32, one int, second bool) error {
		s, err := Open(ctx, comm.Self(), "d", m.options(fsys))
		if err != nil {
			return err
		}
		s.Protect(1, bytes.Repeat([]byte{7}, one))
		if second {
			s.Protect(2, two)
		}
		_, err = s.CheckpointDiff(ctx, id)
		return errors.Join(err, s.Close(ctx))
	}
	must(t, write(mem, 1, 1000, false))
	if err := write(vfs.NewFault(mem, vfs.FailOn(vfs.OpCreate, "*.partial", 0, died)), 2, 3000, true); !errors.Is(err, died) {
		t.Fatal(err)
	}
	must(t, write(mem, 2, 2000, true))
	s, err := Open(ctx, comm.Self(), "d", m.options(mem))
	must(t, err)
	got := make([]byte, len(two))
	s.Protect(1, make([]byte, 2000))
	s.Protect(2, got)
	if err := s.RecoverID(ctx, 2); err != nil || !bytes.Equal(got, two) {
		t.Errorf("%v", err)
	}
}

// TestStoreTornSlot: an interrupted update has changed some blocks of a slot. If the next checkpoint equals the slot's earlier
// data, it must still write these blocks, with the same store and with a store opened after a crash.
func TestStoreTornSlot(t *testing.T) {
	eio := errors.New("input/output error")
	for _, again := range []bool{false, true} {
		mem := vfs.NewMem()
		ctx := context.Background()
		m := mode{ranks: 1, diff: true}
		var armed bool
		writes := 0
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if !armed || op.Kind != vfs.OpWrite || op.Name != fileName("d", 0, 0) {
				return nil
			}
			if writes++; writes > 1 { // the first write of blocks succeeds, and the second fails
				return eio
			}
			return nil
		})
		data := make([]byte, 64<<10)
		s := m.open(t, fsys, data)
		diffs(t, s, 1, 2)
		armed = true
		data[0], data[9000] = 1, 1
		if _, err := s.CheckpointDiff(ctx, 3); !errors.Is(err, eio) {
			t.Fatal(err)
		}
		armed = false
		data[0], data[9000] = 0, 0
		if again {
			must(t, s.Close(ctx))
			s = m.open(t, mem, data)
		}
		diffs(t, s, 4, 4)
		got := make([]byte, len(data))
		r, file, err := s.reader(4)
		must(t, err)
		if _, err := r.ReadAt(1, got, 0); err != nil || !bytes.Equal(got, data) {
			t.Errorf("after a restart %v: stale blocks, %v", again, err)
		}
		file.Close()
	}
}
