package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestRecent: a late heartbeat proves nothing, because its file may have been replaced. On a file system of one machine Recent is
// always false.
func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o := LeaseOptions{Beat: 8 * time.Second, Patience: 30 * time.Second}
		shared := crashtest.NewMachines(vfs.NewMem())
		in := need(Acquire(ctx, shared.Machine(true), "in.nc", o))
		o.Beat = 11 * time.Second
		late := need(Acquire(ctx, shared.Machine(true), "late.nc", o))
		loose := need(Acquire(ctx, shared.Machine(false), "loose.nc", o))
		local := need(Acquire(ctx, vfs.NewMem(), "local.nc", o))
		for at := time.Duration(0); at < 40*time.Second; at += time.Second {
			synctest.Wait()
			if !in.Recent() || late.Recent() != (at < 10*time.Second) || loose.Recent() || local.Recent() {
				t.Errorf("after %v: in time %v, late %v, without locks %v, local %v", at, in.Recent(), late.Recent(), loose.Recent(), local.Recent())
			}
			time.Sleep(time.Second)
		}
		must(t, errors.Join(in.Release(), late.Release(), loose.Release(), local.Release()))
	})
}

// TestReleaseOther: Release does not remove the file of another holder. The exception is a Release just after a successful Check,
// because Release then does not read the file again.
func TestReleaseOther(t *testing.T) {
	for _, checked := range []time.Duration{-1, 2 * time.Second, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			fsys := crashtest.NewMachines(vfs.NewMem()).Machine(true)
			l := need(Acquire(context.Background(), fsys, "d", LeaseOptions{}))
			if checked >= 0 {
				must(t, l.Check())
				time.Sleep(checked)
			}
			other := me()
			must(t, vfs.WriteFile(fsys, "other", other.encode()))
			must(t, fsys.Rename("other", LockName("d")))
			must(t, l.Release())
			h, _, err := holderOf(fsys, LockName("d"))
			if must(t, err); (h != nil) != (checked != time.Second) {
				t.Errorf("checked %v before: %v is left", checked, h)
			}
		})
	}
}

// TestSent: other machines can read a new lease soon, and before any process joins.
func TestSent(t *testing.T) {
	for _, share := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fsys := vfs.Count(crashtest.NewMachines(vfs.NewMem()).Machine(true))
			l := need(Acquire(context.Background(), fsys, "d", LeaseOptions{}))
			if share {
				must(t, l.Share())
			} else {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if n := fsys.Kind(vfs.OpSync); n != 1 {
				t.Errorf("share %v: %d syncs, want 1", share, n)
			}
			must(t, l.Release())
		})
	}
}
