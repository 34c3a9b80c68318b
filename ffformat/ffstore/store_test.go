package ffstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// TestStoreSteps: every checkpoint that is kept can be recovered at every step, with the same
// store, with a fresh one after a restart, and by a View; differential ones write less than
// full ones.
func TestStoreSteps(t *testing.T) {
	for _, m := range modes {
		for _, isolate := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/isolate=%v/restart=%v", m.name, isolate, restart), func(t *testing.T) {
					mem := vfs.NewMem()
					run := func(from, to int) {
						err := comm.Run(context.Background(), m.ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
							if isolate {
								c = comm.Isolate(c)
							}
							s, err := Open(ctx, c, "d", m.options(mem))
							if err != nil {
								return err
							}
							for n := from; n <= to; n++ {
								st, err := m.step(ctx, c, s, n)
								if err != nil {
									return err
								}
								if m.diff && n > 6 && st.Dirty >= st.Blocks {
									return fmt.Errorf("checkpoint %d: %+v: nothing was spared", n, st)
								}
							}
							return s.Close(ctx)
						})
						if err != nil {
							t.Fatal(err)
						}
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
					if err != nil {
						t.Fatal(err)
					}
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

// TestStoreFiles: how many files there are, and that FTI can read what is exported.
func TestStoreFiles(t *testing.T) {
	m := mode{ranks: 5, diff: true}
	mem := vfs.NewMem()
	if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		for n := 1; n <= 4; n++ {
			if _, err := m.step(ctx, c, s, n); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, dir := range []string{"d", "d/slot0", "d/slot1"} {
		l, err := mem.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
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
	v, err := OpenView("d", mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := mem.Mkdir("out"); err != nil {
		t.Fatal(err)
	}
	if err := v.Export(context.Background(), 4, "out"); err != nil {
		t.Fatal(err)
	}
	for rank := range 5 {
		f, err := mem.Open(fmt.Sprintf("out/Ckpt4-Rank%d.fti", rank))
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		r, err := ffformat.NewReader(f, size, f.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(content(rank, 3, 4)))
		if err := r.ReadVar(context.Background(), 3, got); err != nil || !bytes.Equal(got, content(rank, 3, 4)) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if err := v.Export(context.Background(), 4, "out"); err == nil {
		t.Error("an export over what is there")
	}
}

// TestStoreRefuses: misuse is an error, the same on all ranks, and changes nothing.
func TestStoreRefuses(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true}
	err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		want := func(what string, err, class error) error {
			if !errors.Is(err, class) {
				return fmt.Errorf("%s: %v, want %v", what, err, class)
			}
			return nil
		}
		_, _, err := s.Recover(ctx)
		if err := want("Recover of nothing", err, ErrMissing); err != nil {
			return err
		}
		if _, err := m.step(ctx, c, s, 5); err != nil {
			return err
		}
		_, err = s.Checkpoint(ctx, 5)
		if err := want("an id twice", err, ErrUsage); err != nil {
			return err
		}
		_, err = s.Checkpoint(ctx, int32(7+c.Rank()))
		if err := want("two ids", err, ErrUsage); err != nil {
			return err
		}
		inc, err := s.Begin(ctx, 6, true)
		if err != nil {
			return err
		}
		if err := want("Protect during a checkpoint", s.Protect(1, nil), ErrUsage); err != nil {
			return err
		}
		if err := want("Add of what is not protected", inc.Add(ctx, 99), ErrUsage); err != nil {
			return err
		}
		if c.Rank() == 0 { // rank 1 adds all, rank 0 leaves one out
			err = inc.Add(ctx, 1)
		} else {
			for _, id := range varsAt(5) {
				err = errors.Join(err, inc.Add(ctx, id))
			}
		}
		if err != nil {
			return err
		}
		_, err = inc.Commit(ctx)
		if err := want("an incomplete checkpoint", err, ErrUsage); err != nil {
			return err
		}
		if inc, err = s.Begin(ctx, 6, true); err != nil {
			return err
		}
		if err := inc.Abort(ctx); err != nil {
			return err
		}
		if l := s.List(); len(l) != 1 || l[0].ID != 5 {
			return fmt.Errorf("%v", l)
		}
		// sizes that do not fit, too small or too large: nothing is read, on no rank
		stored := int64(len(content(1, 1, 5)))
		for _, n := range []int64{3, stored + 1} {
			if c.Rank() == 1 {
				s.Protect(1, make([]byte, n))
			}
			clear(s.data[2])
			_, _, err = s.Recover(ctx)
			var se *SizeError
			if err := want("other sizes", err, ErrUsage); err != nil {
				return err
			}
			if c.Rank() == 1 && (!errors.As(err, &se) || len(se.Vars) != 1 || se.Vars[0] != SizeMismatch{1, stored, n}) {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
			if b := content(c.Rank(), 2, 5); len(b) > 0 && bytes.Equal(b, s.data[2]) {
				return errors.New("variable 2 was read though the sizes of 1 do not fit")
			}
		}
		// the stored sizes are there to be asked for
		vars, err := s.Stored(5)
		if err != nil || len(vars) != 5 {
			return fmt.Errorf("%v: %w", vars, err)
		}
		for _, v := range vars {
			s.Protect(v.ID, make([]byte, v.Size))
		}
		if err := s.RecoverID(ctx, 5); err != nil {
			return err
		}
		part := make([]byte, 10)
		if _, err := s.ReadAt(5, 3, part, 100); err != nil || !bytes.Equal(part, content(c.Rank(), 3, 5)[100:110]) {
			return fmt.Errorf("ReadAt: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3} {
		m.ranks = n
		if err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil }); !errors.Is(err, ErrUsage) {
			t.Errorf("%d ranks open what two wrote: %v", n, err)
		}
	}
	m.ranks, m.o.Hash = 2, ffformat.Fast
	if err := m.run(mem, func(context.Context, comm.Comm, *Store) error { return nil }); !errors.Is(err, ErrUsage) {
		t.Errorf("another hash: %v", err)
	}
}

// TestStoreTwoWriters: the second of two stores on one directory fails at its commit.
func TestStoreTwoWriters(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	m := mode{ranks: 1, diff: true}
	a, err := Open(ctx, comm.Self(), "d", m.options(mem))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(ctx, comm.Self(), "d", m.options(mem))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.step(ctx, comm.Self(), a, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := m.step(ctx, comm.Self(), b, 2); !errors.Is(err, ErrInUse) || errors.Is(err, ErrBroken) {
		t.Errorf("%v, want ErrInUse", err)
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.step(ctx, comm.Self(), b, 2); !errors.Is(err, ErrBroken) || !errors.Is(err, ErrInUse) {
		t.Errorf("%v, want ErrBroken and ErrInUse", err)
	}
	if got, err := m.holdsStep(mem, 0); err != nil || got != 1 {
		t.Errorf("the checkpoint of the first: %d, %v", got, err)
	}
}

// A Store that finds at its commit that somebody else has written can do nothing more.
func TestStoreWriterBetween(t *testing.T) {
	mem := vfs.NewMem()
	ctx := context.Background()
	m := mode{ranks: 1, diff: true}
	s, err := Open(ctx, comm.Self(), "d", m.options(mem))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.step(ctx, comm.Self(), s, 1); err != nil {
		t.Fatal(err)
	}
	inc, err := s.Begin(ctx, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range s.order {
		if err := inc.Add(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := readRecord(mem, "d")
	if err != nil {
		t.Fatal(err)
	}
	rec.Seq++
	if err := s.ledger.lease.replace(rec, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := inc.Commit(ctx); !errors.Is(err, ErrBroken) || !errors.Is(err, ErrInUse) {
		t.Errorf("%v, want ErrBroken and ErrInUse", err)
	}
	if _, _, err := s.Recover(ctx); !errors.Is(err, ErrBroken) {
		t.Errorf("%v, want ErrBroken", err)
	}
}

// TestStoreDamage: damage to the newest checkpoint of one rank sends all ranks to the one
// before, and the report names file and variable.
func TestStoreDamage(t *testing.T) {
	for _, noLogs := range []bool{false, true} {
		mem := vfs.NewMem()
		m := mode{ranks: 3, diff: true, o: Options{Keep: 2}}
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			for n := 4; n <= 16; n += 12 { // the same sizes
				if _, err := m.step(ctx, c, s, n); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		v, _ := OpenView("d", mem)
		l := v.List()
		f, err := mem.OpenRW(FileName("d", l[len(l)-1].Slot, 1))
		if err != nil {
			t.Fatal(err)
		}
		f.WriteAt([]byte{0xaa, 0x55, 0xaa}, 300)
		f.Close()
		if noLogs {
			for leader := range 3 {
				mem.Remove(nodeLogName("d", leader))
			}
		}
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			for _, id := range varsAt(4) {
				s.Protect(id, make([]byte, len(content(c.Rank(), id, 4))))
			}
			id, skipped, err := s.Recover(ctx)
			if err != nil || id != 4 || len(skipped) != 1 || !errors.Is(skipped[0], ErrChecksum) {
				return fmt.Errorf("recovered %d, skipped %v: %w", id, skipped, err)
			}
			for _, v := range varsAt(4) {
				if !bytes.Equal(s.data[v], content(c.Rank(), v, 4)) {
					return fmt.Errorf("variable %d", v)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		found := false
		for f := range Check(context.Background(), "d", &CheckOptions{FS: mem}) {
			found = found || f.Severity == ffformat.Error && f.Rank.Is(1) && f.Dataset.Is(16)
		}
		if !found {
			t.Error("Check does not find the damage")
		}
	}
}

// TestStoreMoved: ranks that are on other nodes than before find their digests.
func TestStoreMoved(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{diff: true}
	run := func(perNode, n int, spared bool) {
		t.Helper()
		err := comm.Run(context.Background(), 6, &comm.Options{RanksPerNode: perNode}, func(ctx context.Context, c comm.Comm) error {
			s, err := Open(ctx, c, "d", m.options(mem))
			if err != nil {
				return err
			}
			st, err := m.step(ctx, c, s, n)
			if err != nil {
				return err
			}
			if spared != (st.Dirty < st.Blocks) {
				return fmt.Errorf("checkpoint %d with %d ranks per node: %+v", n, perNode, st)
			}
			return s.Close(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
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

// TestBytes: the memory of numbers.
func TestBytes(t *testing.T) {
	v := []float64{1, 2}
	b := Bytes(v)
	if len(b) != 16 {
		t.Fatal(len(b))
	}
	binary.NativeEndian.PutUint64(b, 0x4008000000000000)
	if v[0] != 3 {
		t.Errorf("%v", v)
	}
}

// TestStoreFailureLeavesNoTrace: after a checkpoint that failed or was given up, the files are
// byte for byte those of a store that never tried.
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
				s.Protect(1, make([]byte, 100000)) // grows, and fails on one rank after the other has finished
				inc, err := s.Begin(ctx, 2, true)
				if err != nil {
					return err
				}
				for _, id := range s.order[c.Rank():] {
					if err := inc.Add(ctx, id); err != nil {
						return err
					}
				}
				if _, err := inc.Commit(ctx); !errors.Is(err, ErrUsage) {
					return fmt.Errorf("%v, want ErrUsage", err)
				}
				if inc, err = s.Begin(ctx, 2, true); err != nil {
					return err
				}
				if err := inc.Add(ctx, 1); err != nil {
					return err
				}
				if err := inc.Abort(ctx); err != nil {
					return err
				}
			}
			_, err := m.step(ctx, c, s, 2)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for rank := range 2 {
			b, err := vfs.ReadFile(mem, FileName("d", 1, rank), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			files[try] = append(files[try], b...)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%d and %d bytes, or other ones", len(files[0]), len(files[1]))
	}
}

// TestStoreOtherContainers: a checkpoint that was cut short before its commit has brought
// containers that are not those which the next one brings at the same number.
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
	if err := write(mem, 1, 1000, false); err != nil {
		t.Fatal(err)
	}
	if err := write(vfs.NewFault(mem, vfs.FailOn(vfs.OpCreate, "*.partial", 0, died)), 2, 3000, true); !errors.Is(err, died) {
		t.Fatal(err)
	}
	if err := write(mem, 2, 2000, true); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, comm.Self(), "d", m.options(mem))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(two))
	s.Protect(1, make([]byte, 2000))
	s.Protect(2, got)
	if err := s.RecoverID(ctx, 2); err != nil || !bytes.Equal(got, two) {
		t.Errorf("%v", err)
	}
}

// TestStoreTornSlot: an update of a slot that was cut short has changed some blocks of it. When the
// next checkpoint wants what the slot held before, they are written all the same, by the same
// store and by one that comes after a crash.
func TestStoreTornSlot(t *testing.T) {
	eio := errors.New("input/output error")
	for _, again := range []bool{false, true} {
		mem := vfs.NewMem()
		ctx := context.Background()
		m := mode{ranks: 1, diff: true}
		var armed bool
		writes := 0
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if !armed || op.Kind != vfs.OpWrite || op.Name != FileName("d", 0, 0) {
				return nil
			}
			if writes++; writes > 1 { // the first run of blocks reaches the file
				return eio
			}
			return nil
		})
		s, err := Open(ctx, comm.Self(), "d", m.options(fsys))
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 64<<10)
		for id := int32(1); id <= 2; id++ {
			s.Protect(1, data)
			if _, err := s.CheckpointDiff(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		armed = true
		data[0], data[9000] = 1, 1
		if _, err := s.CheckpointDiff(ctx, 3); !errors.Is(err, eio) {
			t.Fatal(err)
		}
		armed = false
		data[0], data[9000] = 0, 0
		if again {
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(ctx, comm.Self(), "d", m.options(mem)); err != nil {
				t.Fatal(err)
			}
			s.Protect(1, data)
		}
		if _, err := s.CheckpointDiff(ctx, 4); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(data))
		r, err := s.reader(4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reader.ReadAt(1, got, 0); err != nil || !bytes.Equal(got, data) {
			t.Errorf("after a restart %v: stale blocks, %v", again, err)
		}
		r.Close()
	}
}

// TestFullAfterDifferential: FTI's defects 2 and 10. Full and differential checkpoints
// in any order: each can be recovered.
func TestFullAfterDifferential(t *testing.T) {
	for pattern := range 1 << 5 {
		mem := vfs.NewMem()
		m := mode{ranks: 2}
		if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
			for n := 1; n <= 5; n++ {
				m := m
				m.diff = pattern>>(n-1)&1 == 1
				if _, err := m.step(ctx, c, s, n); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.holdsStep(mem, 5); err != nil {
			t.Errorf("pattern %05b: %v", pattern, err)
		}
		checkClean(t, mem)
	}
}

// TestRecoverPassingError: an error of I/O is not damage. It is returned, on all ranks, and no
// older checkpoint is taken for it, whose next commit would make the newest go.
func TestRecoverPassingError(t *testing.T) {
	eio := errors.New("input/output error")
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true, o: Options{Keep: 2}}
	if err := m.run(mem, func(ctx context.Context, c comm.Comm, s *Store) error {
		for n := 4; n <= 16; n += 12 { // the same sizes
			if _, err := m.step(ctx, c, s, n); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	v, err := OpenView("d", mem)
	if err != nil {
		t.Fatal(err)
	}
	l := v.List()
	name := FileName("d", l[len(l)-1].Slot, 1)
	var armed atomic.Bool
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if armed.Load() && op.Kind == vfs.OpRead && op.Name == name {
			return eio
		}
		return nil
	})
	if err := m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		for _, id := range varsAt(16) {
			s.Protect(id, make([]byte, len(content(c.Rank(), id, 16))))
		}
		armed.Store(true)
		id, skipped, err := s.Recover(ctx)
		if !errors.Is(err, eio) || id != 0 || len(skipped) != 0 {
			return fmt.Errorf("recovered %d, skipped %v: %w", id, skipped, err)
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		armed.Store(false)
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if id, skipped, err = s.Recover(ctx); err != nil || id != 16 || len(skipped) != 0 {
			return fmt.Errorf("again: %d, skipped %v: %w", id, skipped, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
