package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// late is a client of a network file system that shows the former file of a name for a second after a rename.
type late struct {
	vfs.FS
	was   *vfs.Mem
	until time.Time
}

func (l *late) Open(name string) (vfs.File, error) {
	if time.Now().Before(l.until) {
		return l.was.Open(name)
	}
	return l.FS.Open(name)
}

// early is another client, which renames the file.
type early struct {
	vfs.FS
	seen *late
	then func()
}

func (e early) Rename(from, to string) error {
	b, err := vfs.ReadFile(e.FS, to, maxHolder)
	if err == nil {
		err = errors.Join(vfs.WriteFile(e.seen.was, to, b), e.FS.Rename(from, to))
	}
	if err == nil {
		e.seen.until = time.Now().Add(time.Second)
		e.then()
	}
	return err
}

// TestTakenOverLate: after a takeover from a holder that may be alive, its Check fails, even if its machine sees the new file
// late.
func TestTakenOverLate(t *testing.T) {
	for _, locks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			machines := crashtest.NewMachines(vfs.NewMem())
			one := &late{FS: machines.Machine(locks), was: vfs.NewMem()}
			a := need(Acquire(ctx, one, "d", LeaseOptions{Beat: time.Hour, Boot: "one"}))
			passed := false
			two := early{machines.Machine(locks), one, func() { passed = a.Check() == nil }}
			b := need(Acquire(ctx, two, "d", LeaseOptions{Boot: "two"}))
			if err := a.Check(); !passed || !errors.Is(err, fault.ErrInUse) {
				t.Errorf("locks %v: the former holder after the takeover: %v; before it was seen: passed %v", locks, err, passed)
			}
			must(t, b.Check())
			must(t, b.Settle())
			must(t, errors.Join(b.Release(), a.Release()))
		})
	}
}

// TestLingerEnds: a process that gives up while it waits has no lease, and the next process gets it.
func TestLingerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machines := crashtest.NewMachines(vfs.NewMem())
		seen := &late{FS: machines.Machine(true), was: vfs.NewMem()}
		a := need(Acquire(context.Background(), seen, "d", LeaseOptions{Beat: time.Hour, Boot: "one"}))
		ctx, cancel := context.WithCancel(context.Background())
		two := machines.Machine(true)
		if l, err := Acquire(ctx, early{two, seen, cancel}, "d", LeaseOptions{Boot: "two"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, %v", l, err)
		}
		c := need(Acquire(context.Background(), two, "d", LeaseOptions{Boot: "two"}))
		must(t, errors.Join(c.Settle(), c.Release(), a.Release()))
	})
}
