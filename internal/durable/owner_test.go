package durable

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// stranger is a user who may not write to a file that is there before it makes its own.
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

// TestOtherUser: the lease of another user's dead process is taken over by who may change the directory, that of a living
// one is not.
func TestOtherUser(t *testing.T) {
	mem := vfs.NewMem()
	me := stranger{mem, map[string]bool{}}
	a := take(t, mem, "d.nc")
	var in *InUseError
	if _, err := Acquire(context.Background(), me, "d.nc", quick); !errors.As(err, &in) || in.Holder.ID != a.ID() {
		t.Fatalf("a living one: %v", err)
	}
	must(t, a.file.Close()) // as if it were killed
	b := take(t, me, "d.nc")
	if b.Dead() == nil || b.Dead().ID != a.ID() || b.Unsure() {
		t.Errorf("dead %v, unsure %v", b.Dead(), b.Unsure())
	}
	if _, err := Acquire(context.Background(), mem, "d.nc", quick); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("a third: %v", err)
	}
	must(t, b.Release())
	if l, err := mem.ReadDir("."); err != nil || len(l) > 0 {
		t.Errorf("left: %v %v", l, err)
	}
}

// TestEmptyLock: where locks do not reach, an empty file may be about to be filled by another, so it is not written to.
func TestEmptyLock(t *testing.T) {
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

// shared may belong to several machines.
type shared struct{ vfs.FS }

func (shared) Local(string) bool { return false }

// busy has no locks, and removes no file that is open.
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

func (f *busyFile) Lock(bool) error { return vfs.ErrNoLocks }
func (f *busyFile) Close() error {
	f.fs.open[f.Name()]--
	return f.File.Close()
}

// TestReleaseOfOpen: a lease is given back where a file that is open cannot be removed.
func TestReleaseOfOpen(t *testing.T) {
	fsys := busy{shared{vfs.NewMem()}, map[string]int{}}
	l, err := Acquire(context.Background(), fsys, "d.nc", LeaseOptions{})
	must(t, err)
	must(t, l.Release())
	if l, err := fsys.ReadDir("."); err != nil || len(l) > 0 {
		t.Errorf("left: %v %v", l, err)
	}
}

// TestExported: a holder that calls itself another machine may have mounted what is local here, so a free lock says nothing.
func TestExported(t *testing.T) {
	mem := vfs.NewMem()
	h := Holder{ID: NewID(), Host: "another.machine", Boot: "another", PID: 1}
	f, err := mem.Create(LockName("d.nc"))
	must(t, err)
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
