package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

var long = crashtest.Long()

const storySteps = 6

// storyState returns the state of the story's array after version n: some of the chunks change at each step.
func storyState(n int64) []float64 {
	out := make([]float64, 640)
	for v := int64(1); v <= n; v++ {
		for i := range out {
			if (int64(i)/64+v)%3 == 0 || v == 1 {
				out[i] = float64(v*10000 + int64(i))
			}
		}
	}
	return out
}

// story continues from the present state to version storySteps.
func story(ctx context.Context, c comm.Comm, st *Store, o *Options, started func(n int64)) error {
	a, err := Open(ctx, c, st, "a", o)
	if errors.Is(err, ErrMissing) {
		a, err = Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{640}, Chunk: 512, Keep: Retention{Last: 2}}, o)
	}
	if err != nil {
		return err
	}
	for n := a.Newest() + 1; n <= storySteps; n++ {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		started(n)
		s := storyState(n)
		lo := int64(c.Rank()) * 640 / int64(c.Size())
		hi := int64(c.Rank()+1) * 640 / int64(c.Size())
		if err := Put(ctx, a, []int64{lo}, []int64{hi}, s[lo:hi]); err != nil {
			return err
		}
		if _, err := a.Inc(ctx, 1, fmt.Sprint("step ", n)); err != nil {
			return err
		}
	}
	return a.Close(ctx)
}

// holds checks that the newest version is n or n-1, and that it and the version before it are undamaged. Then it completes the
// story.
func holds(fsys vfs.FS, n int64) error {
	return comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		st := &Store{Dir: "d", FS: fsys}
		a, err := Open(ctx, c, st, "a", nil)
		if errors.Is(err, ErrMissing) && n <= 1 {
			return nil
		}
		if err != nil {
			return err
		}
		if v := a.Newest(); v != n && v != n-1 {
			return fmt.Errorf("version %d in step %d", v, n)
		}
		got := make([]float64, 640)
		for _, v := range a.Versions() {
			if err := GetAt(ctx, a, v.Number, []int64{0}, []int64{640}, got); err != nil || !slices.Equal(got, storyState(v.Number)) {
				return fmt.Errorf("version %d in step %d: %v", v.Number, n, err)
			}
		}
		if err := Get(ctx, a, []int64{0}, []int64{640}, got); err != nil || !slices.Equal(got, storyState(a.Newest())) {
			return fmt.Errorf("current state in step %d: %v", n, err)
		}
		if err := a.Close(ctx); err != nil {
			return err
		}
		return story(ctx, c, st, nil, func(int64) {})
	})
}

// TestNewStoreDurable: when a version is durable, the directories of its array are durable, too, including new parent
// directories.
func TestNewStoreDurable(t *testing.T) {
	disk := vfs.NewMem()
	ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, &Store{Dir: "p/d", FS: disk}, 640, nil)
		return a.Close(ctx)
	})
	if _, err := disk.CrashClone(vfs.CrashOptions{}).Stat("p/d/a/" + recordName); err != nil {
		t.Error(err)
	}
}

// TestUnfinishedFileGoes: opening an array removes the unfinished files of a killed writer.
func TestUnfinishedFileGoes(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, 64, nil)
		return a.Close(ctx)
	})
	left, err := durable.CreateTemp(mem, "d/a/"+recordName, durable.TempOptions{})
	if err == nil {
		err = left.Finish()
	}
	must(t, err)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Open(ctx, c, st, "a", nil)
		must(t, err)
		return a.Close(ctx)
	})
	if _, err := mem.Stat(left.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", left.Name(), err)
	}
}

// TestCrash: the power is cut before every modifying operation.
func TestCrash(t *testing.T) {
	var now atomic.Int64
	sc := storyScenario(t, &now, nil)
	sc.Torn, sc.Every, sc.Seed = 1, crashtest.Times(7, 1), 1
	sc.Always = func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir } // an unsynced name is lost
	cuts := sc.Cuts(t)
	if len(cuts) < 20 {
		t.Fatalf("%d cuts", len(cuts))
	}
	for _, c := range cuts {
		if err := holds(c.Mem[0], c.Mark); err != nil {
			t.Fatalf("%s: %v", c.When, err)
		}
	}
}

// emptyDisk returns a disk with the directory d.
func emptyDisk(t testing.TB) []*vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	must(t, errors.Join(m.MkdirAll("d"), m.SyncDir(".")))
	return []*vfs.Mem{m}
}

// storyScenario runs the story. The mark of the scenario is the number of the version that has begun. If errs is not nil, it
// receives the errors of the ranks, and these errors do not end the run.
func storyScenario(t *testing.T, now *atomic.Int64, errs []error) *crashtest.Scenario {
	return &crashtest.Scenario{Start: emptyDisk(t), Mark: now.Load, Run: crashtest.One(func(fsys vfs.FS) error {
		now.Store(0)
		return comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			err := story(ctx, c, &Store{Dir: "d", FS: fsys}, nil, now.Store)
			if errs != nil {
				errs[c.Rank()], err = err, nil
			}
			return err
		})
	})}
}

// TestFaults: every operation fails once. Every rank returns an error, and committed versions stay.
func TestFaults(t *testing.T) {
	var now atomic.Int64
	errs := make([]error, 4)
	sc := storyScenario(t, &now, errs)
	sc.Every = crashtest.Times(9, 1)
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		if f.Err != nil {
			t.Fatalf("%s: %v", f.When, f.Err)
		}
		for r, e := range errs {
			if (e == nil) != (errs[0] == nil) {
				t.Fatalf("%s: rank %d: %v, rank 0: %v", f.When, r, e, errs[0])
			}
		}
		if errs[0] == nil && !passedOver(*f.Op) {
			t.Fatalf("%s: no rank has an error", f.When)
		}
		if err := holds(f.Mem[0], max(now.Load(), 1)); err != nil {
			t.Fatalf("%s: after %v: %v", f.When, errs[0], err)
		}
	}
}

// passedOver reports whether the story may continue although the operation failed. Such operations are the removal of an
// unneeded file (which is tried again later), the read of one of the two records, and the close of a file opened for reading.
func passedOver(op vfs.Op) bool {
	base := filepath.Base(op.Name)
	switch op.Kind {
	case vfs.OpRemove:
		return isData(base)
	case vfs.OpReadDir:
		return true
	case vfs.OpClose:
		return !durable.IsTemp(base)
	}
	return slices.Contains(arrays.Seals, base) && !op.Kind.Changes() && op.Kind != vfs.OpSync
}

// TestDamage: if a store is damaged, reads return an error and never damaged data.
func TestDamage(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	one := func(f func(ctx context.Context, c comm.Comm) error) error {
		return comm.Run(bg, 1, nil, f)
	}
	must(t, one(func(ctx context.Context, c comm.Comm) error {
		return story(ctx, c, &Store{Dir: "d", FS: mem}, nil, func(int64) {})
	}))
	list, err := mem.ReadDir("d/a")
	must(t, err)
	rng := rand.New(rand.NewSource(1))
	bad, silent := 0, 0
	for _, e := range list {
		info, err := e.Info()
		must(t, err)
		every := int64(37)
		if long {
			every = 1
		}
		for off := rng.Int63n(every); off < info.Size(); off += every {
			f, err := mem.OpenRW("d/a/" + e.Name())
			must(t, err)
			b := []byte{0}
			if _, err := f.ReadAt(b, off); err != nil {
				t.Fatal(err)
			}
			flip := func() {
				b[0] ^= 0x10
				if _, err := f.WriteAt(b, off); err != nil {
					t.Fatal(err)
				}
			}
			flip()
			err = one(func(ctx context.Context, c comm.Comm) error {
				a, err := Open(ctx, c, &Store{Dir: "d", FS: readOnly{mem}}, "a", nil)
				if err != nil {
					return err
				}
				got := make([]float64, 640)
				for _, v := range a.Versions() {
					if err := GetAt(ctx, a, v.Number, []int64{0}, []int64{640}, got); err != nil {
						return err
					}
					if !slices.Equal(got, storyState(v.Number)) {
						silent++
						return fmt.Errorf("SILENT: byte %d of %s, version %d", off, e.Name(), v.Number)
					}
				}
				return nil
			})
			if err != nil {
				bad++
			}
			flip()
			f.Close()
		}
	}
	if silent > 0 || bad == 0 {
		t.Errorf("%d silent, %d found", silent, bad)
	}
}

// readOnly is a file system that refuses to create and remove files.
type readOnly struct{ vfs.FS }

func (readOnly) Remove(string) error { return nil }
