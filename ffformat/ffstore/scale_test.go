package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// openCount counts open handles.
type openCount struct {
	vfs.FS
	now atomic.Int64
}

type countedFile struct {
	vfs.File
	c *openCount
}

func (c *openCount) took(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	c.now.Add(1)
	return &countedFile{f, c}, nil
}

func (c *openCount) Create(n string) (vfs.File, error) { return c.took(c.FS.Create(n)) }
func (c *openCount) Open(n string) (vfs.File, error)   { return c.took(c.FS.Open(n)) }
func (c *openCount) OpenRW(n string) (vfs.File, error) { return c.took(c.FS.OpenRW(n)) }

func (f *countedFile) Close() error {
	f.c.now.Add(-1)
	return f.File.Close()
}

// TestManyRanks: a thousand ranks do full, differential and incremental checkpoints and a recovery. No open files and no
// goroutines remain.
func TestManyRanks(t *testing.T) { crashtest.Bubble(t, testManyRanks) }

func testManyRanks(t *testing.T) {
	ranks := 1000
	if raceEnabled {
		ranks = 200
	}
	c := &openCount{FS: vfs.NewMem()}
	m := mode{ranks: ranks, diff: true}
	err := comm.Run(context.Background(), m.ranks, &comm.Options{RanksPerNode: 100}, func(ctx context.Context, cm comm.Comm) error {
		o := m.options(c)
		s, err := Open(ctx, cm, "d", o)
		must(t, err)
		a, b := bytes.Repeat([]byte{byte(cm.Rank())}, 2000), []byte{byte(cm.Rank() >> 8)}
		s.Protect(1, a)
		s.Protect(2, b)
		for id := int32(1); id <= 4; id++ {
			a[int(id)*400] = 99
			switch id {
			case 1:
				_, err = s.Checkpoint(ctx, id)
			case 4:
				var inc *Incremental
				if inc, err = s.Begin(ctx, id, true); err == nil {
					err = errors.Join(inc.Add(ctx, 2), inc.Add(ctx, 1))
					_, cerr := inc.Commit(ctx)
					err = errors.Join(err, cerr)
				}
			default:
				_, err = s.CheckpointDiff(ctx, id)
			}
			must(t, err)
		}
		want := bytes.Clone(a)
		clear(a)
		clear(b)
		if id, _, err := s.Recover(ctx); err != nil || id != 4 || !bytes.Equal(a, want) || b[0] != byte(cm.Rank()>>8) {
			return fmt.Errorf("%d: %w", id, err)
		}
		return s.Close(ctx)
	})
	must(t, err)
	if n := c.now.Load(); n != 0 {
		t.Errorf("%d files are open still", n)
	}
	checkClean(t, c)
	if n := len(mustNames(t, c, "d")); n != 1+ranks/100+2 { // names: the record, the side files and two slots
		t.Errorf("%d names in the directory", n)
	}
}

func mustNames(t testing.TB, fsys vfs.FS, dir string) (l []string) {
	t.Helper()
	e, err := fsys.ReadDir(dir)
	must(t, err)
	for _, x := range e {
		l = append(l, x.Name())
	}
	return l
}

// TestCancel: a cancelled context ends a checkpoint at any point. Files are closed, and committed checkpoints stay.
func TestCancel(t *testing.T) {
	for at := int64(1); ; at += 3 {
		c := &openCount{FS: vfs.NewMem()}
		m := mode{ranks: 3, diff: true}
		m.steps(t, c.FS, 1, 2)
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int64
		fsys := vfs.NewFault(c, func(vfs.Op) error {
			if n.Add(1) == at {
				cancel()
			}
			return nil
		})
		err := comm.Run(ctx, 3, nil, func(ctx context.Context, cm comm.Comm) error {
			s, err := Open(ctx, cm, "d", m.options(fsys))
			if err != nil {
				return err
			}
			_, err = m.step(ctx, cm, s, 3)
			return errors.Join(err, s.Close(ctx))
		})
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at %d: %v", at, err)
		}
		if k := c.now.Load(); k != 0 {
			t.Fatalf("cancelled at %d: %d files are open", at, k)
		}
		got, herr := m.holdsStep(c.FS, 0)
		if herr != nil || got != 2 && got != 3 || err == nil && got != 3 {
			t.Fatalf("cancelled at %d: %d, %v (%v)", at, got, herr, err)
		}
		m.steps(t, c.FS, 4, 5)
		m.holds(t, c.FS, 5)
		if n.Load() < at {
			break
		}
	}
}

// TestMemory: a checkpoint and a recovery do not copy the data. With the default block size, the digests in memory take at
// most 1 % of the size of the data, for all kinds of digests.
func TestMemory(t *testing.T) {
	ctx := context.Background()
	const size = 16 << 20
	for _, o := range []Options{{}, {Hash: ffformat.Fast}} {
		o.Durability, o.Workers = DurableNone, 2
		dir := filepath.Join(t.TempDir(), "d")
		s, err := Open(ctx, comm.Self(), dir, &o)
		must(t, err)
		data := make([]byte, size)
		s.Protect(1, data)
		var before, after runtime.MemStats
		what := func(name string, f func() error) {
			runtime.ReadMemStats(&before)
			must(t, f())
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > size/4 { // bytes of all allocations in between
				t.Errorf("%s of %d bytes allocates %d", name, size, n)
			}
		}
		what("full", func() error { _, err := s.Checkpoint(ctx, 1); return err })
		for id := int32(2); id < 5; id++ {
			for i := 0; i < size; i += 1 << 20 {
				data[i]++
			}
			what("differential", func() error { _, err := s.CheckpointDiff(ctx, id); return err })
		}
		what("recovery", func() error { _, _, err := s.Recover(ctx); return err })
		for k := range s.files.slots {
			if b := s.files.slots[k].digests.Marshal(); len(b) > size/100 {
				t.Errorf("digests of slot %d: %d bytes", k, len(b))
			}
		}
		must(t, s.Close(ctx))
	}
}

// TestLock: on a real file system a second Store cannot write while the first is open, but can after its Close.
func TestLock(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "d")
	o := &Options{Durability: DurableNone}
	open := func() *Store {
		s, err := Open(ctx, comm.Self(), dir, o)
		must(t, err)
		s.Protect(1, []byte("abc"))
		return s
	}
	a, b := open(), open()
	if _, err := a.Checkpoint(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Checkpoint(ctx, 2); !errors.Is(err, ErrInUse) || errors.Is(err, ErrBroken) {
		t.Fatalf("%v, want ErrInUse", err)
	}
	if _, _, err := Rebuild(ctx, dir, &Options{Force: true}); !errors.Is(err, ErrInUse) {
		t.Errorf("Rebuild: %v, want ErrInUse", err)
	}
	// Rebuild must take the lock before it reads the record, or the record may change meanwhile.
	if _, _, err := Rebuild(ctx, dir, nil); !errors.Is(err, ErrInUse) {
		t.Errorf("Rebuild: %v, want ErrInUse", err)
	}
	if _, _, err := Rebuild(ctx, dir, &Options{DryRun: true, Force: true}); err != nil {
		t.Errorf("Rebuild that only looks: %v", err)
	}
	c := open() // reading needs no lock
	if id, _, err := c.Recover(ctx); err != nil || id != 1 {
		t.Errorf("%d, %v", id, err)
	}
	must(t, a.Close(ctx))
	if _, err := b.Checkpoint(ctx, 2); !errors.Is(err, ErrInUse) || !errors.Is(err, ErrBroken) {
		t.Errorf("a Store that knows of nothing: %v, want ErrBroken", err)
	}
	must(t, b.Close(ctx))
	if _, err := c.Checkpoint(ctx, 2); err != nil {
		t.Error(err)
	}
	must(t, c.Close(ctx))
	if l, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(l) > 0 {
		t.Errorf("left: %v, %v", l, err)
	}
}

// TestOptionsDiffer: ranks with different options get an error.
func TestOptionsDiffer(t *testing.T) {
	for i := range 5 {
		err := comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
			o := mode{}.options(vfs.NewMem())
			if c.Rank() == 1 {
				switch i {
				case 0:
					o.Keep = 2
				case 1:
					o.BlockSize = 1024
				case 2:
					o.Durability = DurableNone
				case 3:
					o.Layout = 2
				case 4:
					o.Keep = -1
				}
			}
			_, err := Open(ctx, c, "d", o)
			if !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("case %d, rank %d: %v, want fault.ErrUsage", i, c.Rank(), err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
