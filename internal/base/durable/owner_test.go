package durable

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// stranger is a user who may not write to files that existed before.
type stranger struct {
	vfs.FS
	own map[string]bool
}

func (s stranger) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	s.own[name] = err == nil
	return f, err
}

func (s stranger) OpenRW(name string) (vfs.File, error) {
	if _, err := s.Stat(name); err == nil && !s.own[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return s.FS.OpenRW(name)
}

// TestOtherUser: users who may change the directory can take over the lease of another user's dead process, but not of a living
// one.
func TestOtherUser(t *testing.T) {
	mem := vfs.NewMem()
	me := stranger{mem, map[string]bool{}}
	a := take(t, mem, "d.nc")
	var in *InUseError
	if _, err := Acquire(context.Background(), me, "d.nc", LeaseOptions{}); !errors.As(err, &in) || in.Holder.ID != a.ID() {
		t.Fatalf("a living one: %v", err)
	}
	must(t, a.file.Close()) // as if the process had been killed
	b := take(t, me, "d.nc")
	if b.Dead() == nil || b.Dead().ID != a.ID() || b.Unsure() {
		t.Errorf("dead %v, unsure %v", b.Dead(), b.Unsure())
	}
	if _, err := Acquire(context.Background(), mem, "d.nc", LeaseOptions{}); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("a third: %v", err)
	}
	must(t, b.Release())
	if l := names(t, mem, "."); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// TestEmptyLock: without locks, another process may be about to fill an empty file, so Acquire does not write to it.
func TestEmptyLock(t *testing.T) { synctest.Test(t, testEmptyLock) }

func testEmptyLock(t *testing.T) {
	sh := shared{vfs.NewMem()}
	f, err := sh.Create(LockName("d.nc"))
	must(t, err)
	b := take(t, sh, "d.nc")
	if !b.Unsure() {
		t.Error("sure of one that has not said who it is")
	}
	_, err = f.WriteAt([]byte(`{"id":"late"}`), 0)
	must(t, errors.Join(err, b.Check(), b.Settle(), b.Release(), f.Close()))
}

// shared is a file system that several machines may share.
type shared struct{ vfs.FS }

func (shared) Local(string) bool { return false }

// busy has no locks and, like Windows, cannot remove or rename open files.
type busy struct {
	shared
	open map[string]int
}

type busyFile struct {
	vfs.File
	fs busy
}

func (b busy) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	b.open[f.Name()]++
	return &busyFile{f, b}, nil
}

func (b busy) Create(name string) (vfs.File, error) { return b.file(b.FS.Create(name)) }
func (b busy) Open(name string) (vfs.File, error)   { return b.file(b.FS.Open(name)) }
func (b busy) OpenRW(name string) (vfs.File, error) { return b.file(b.FS.OpenRW(name)) }
func (b busy) Remove(name string) error {
	if b.open[name] > 0 {
		return errors.New("it is open")
	}
	return b.FS.Remove(name)
}

func (b busy) Rename(from, to string) error {
	if b.open[from]+b.open[to] > 0 {
		return errors.New("it is open")
	}
	return b.FS.Rename(from, to)
}

func (f *busyFile) Lock(bool) error { return vfs.ErrNoLocks }
func (f *busyFile) Close() error {
	f.fs.open[f.Name()]--
	return f.File.Close()
}

// TestReleaseOfOpen: a lease can be released on a file system that cannot remove open files.
func TestReleaseOfOpen(t *testing.T) {
	fsys := busy{shared{vfs.NewMem()}, map[string]int{}}
	l := need(Acquire(context.Background(), fsys, "d.nc", LeaseOptions{}))
	must(t, l.Release())
	if l := names(t, fsys, "."); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// TestTakeoverOfOpen: a dead holder's lease can be taken over where open files cannot be replaced. If another process keeps the
// file open, the error names a remedy and no file is left.
func TestTakeoverOfOpen(t *testing.T) { synctest.Test(t, testTakeoverOfOpen) }

func testTakeoverOfOpen(t *testing.T) {
	fsys := busy{shared{vfs.NewMem()}, map[string]int{}}
	h := Holder{ID: NewID(), Host: "here", PID: 1}
	must(t, vfs.WriteFile(fsys, LockName("d.nc"), h.encode()))
	still := LeaseOptions{Beat: time.Hour, Patience: 1}
	reader := need(fsys.Open(LockName("d.nc")))
	if l, err := Acquire(context.Background(), fsys, "d.nc", still); err == nil || !strings.Contains(err.Error(), "delete the file") || !strings.Contains(err.Error(), LockName("d.nc")) {
		t.Fatalf("%v %v", l, err)
	}
	if l := names(t, fsys, "."); len(l) != 1 {
		t.Errorf("left: %v", l)
	}
	must(t, reader.Close())
	l := need(Acquire(context.Background(), fsys, "d.nc", still))
	must(t, errors.Join(l.Check(), l.Settle(), l.Release()))
	if l := names(t, fsys, "."); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// TestTakeoverKilled: the next holder removes exactly the files of a writer that died while it took over.
func TestTakeoverKilled(t *testing.T) { synctest.Test(t, testTakeoverKilled) }

func testTakeoverKilled(t *testing.T) {
	for _, locks := range []bool{true, false} {
		killed := 0
		for n := int64(1); takeoverKilled(t, locks, n, &killed); n++ {
		}
		if killed == 0 {
			t.Error("nobody was killed between making the file and giving it its name")
		}
	}
}

// takeoverKilled kills a writer at operation n and reports whether there is such an operation.
func takeoverKilled(t *testing.T, locks bool, n int64, killed *int) bool {
	mem := vfs.NewMem()
	all := crashtest.NewMachines(mem)
	h := Holder{ID: NewID(), Host: "another.machine", Boot: "another", PID: 1}
	others := []string{".d.nc.lock.w1234567", ".d.nc.lock.x12345678", ".e.nc.lock.w12345678", "d.nc.lock.w12345678"}
	for _, name := range append(others, LockName("d.nc")) {
		must(t, vfs.WriteFile(mem, name, h.encode()))
	}
	dead, over := false, false
	first, err := Acquire(context.Background(), vfs.NewFault(all.Machine(locks), func(op vfs.Op) error {
		if dead = dead || !over && op.Seq == n; dead && !over {
			return errors.New("killed")
		}
		return nil
	}), "d.nc", LeaseOptions{Beat: time.Hour, Patience: 1, Boot: "one"})
	over = true
	left, lerr := Leftovers(mem, "d.nc")
	must(t, lerr)
	if len(left) > 0 {
		*killed++
	}
	if !dead {
		must(t, errors.Join(err, first.Release()))
		return false
	}
	if err == nil {
		die(t, first)
	}
	l := takeStill(t, all.Machine(locks), "two")
	must(t, errors.Join(l.Settle(), l.Release()))
	if list, err := mem.ReadDir("."); err != nil || len(list) != len(others) {
		t.Errorf("locks %v, operation %d: left %v, %v", locks, n, list, err)
	}
	return true
}

// TestReleaseTwice: several goroutines may call Release.
func TestReleaseTwice(t *testing.T) { synctest.Test(t, testReleaseTwice) }

func testReleaseTwice(t *testing.T) {
	fsys := shared{vfs.NewMem()}
	for range 50 {
		l := take(t, fsys, "d.nc") // with a heartbeat
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		must(t, take(t, fsys, "d.nc").Release())
	}
}

// TestExported: a holder on another machine may have mounted a local file system of this machine, so a free lock proves
// nothing.
func TestExported(t *testing.T) { synctest.Test(t, testExported) }

func testExported(t *testing.T) {
	mem := vfs.NewMem()
	h := Holder{ID: NewID(), Host: "another.machine", Boot: "another", PID: 1}
	f := need(mem.Create(LockName("d.nc")))
	must(t, errors.Join(put(f, h.encode(), false), f.Close()))
	if _, state, err := Inspect(mem, "d.nc"); err != nil || state != HolderUnsure {
		t.Errorf("Inspect: %v, %v", state, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Acquire(ctx, mem, "d.nc", LeaseOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("without waiting: %v", err)
	}
	l := take(t, mem, "d.nc")
	if !l.Unsure() || l.Dead() == nil || l.Dead().ID != h.ID {
		t.Errorf("unsure %v, dead %v", l.Unsure(), l.Dead())
	}
	must(t, errors.Join(l.Settle(), l.Release()))
}
