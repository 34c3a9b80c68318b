package scr

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// TestFaults fails each operation of the file system in turn, for once or from then on: the run ends without an error or
// with one on all ranks, nothing hangs, and a new run on the same disks, well again, finds what was completed.
func TestFaults(t *testing.T) {
	var p progress
	at := func(fsys vfs.FS) *cluster {
		cl := fourNodes(t).set("SCR_FLUSH", "2")
		cl.fs, cl.ready = fsys, true
		return cl
	}
	start := fourNodes(t).fs.(*vfs.Mem)
	for _, node := range fourNodes(t).nodes {
		mkdirs(t, start, "/nodes/"+node+"/local")
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Every: crashtest.Times(607, 3), Run: func(d *crashtest.Disks) error {
		p = progress{}
		cl := at(d.FS[0])
		cl.conf = d.Mem[0]
		return cl.matrixRun(&p)
	}}
	full := crashtest.Fails(syscall.ENOSPC)
	mixed := crashtest.Dies(syscall.EIO)
	var k atomic.Int64
	mixed.Hook = func(vfs.Op) error {
		if k.Add(1)%2 == 0 {
			return syscall.ENOSPC
		}
		return syscall.EIO
	}
	for f := range sc.Faults(t, full, mixed) {
		if err := f.Err; err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "error") {
			t.Logf("%s: %v", f.When, err)
		}
		got, err := at(f.Mem[0]).restart()
		if err != nil {
			t.Errorf("%s: the next run: %v", f.When, err)
			continue
		}
		if got < p.done || got > max(p.began, matrixLast) {
			t.Errorf("%s: restarted from %d, %d were completed; the run said %v", f.When, got, p.done, f.Err)
		}
	}
}

// TestUnreadable: a checkpoint whose files cannot be read in one run is not deleted: the next run finds it, unless the
// run before went on from an older one.
func TestUnreadable(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_COPY_TYPE", "SINGLE", "SCR_FLUSH", "2")
		must(t, cl.checkpoints(1, 3))
		sick := *cl
		sick.ready, sick.conf = true, cl.fs
		sick.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, "scr.dataset.3/rank_1.0.ckpt") {
				return syscall.EIO
			}
			return nil
		})
		if goesOn {
			sick.mustRestart(2)
			cl.mustRestart(2)
			continue
		}
		must(t, sick.run(func(ctx context.Context, s *Session, rank int) error {
			if r, ok, err := s.HaveRestart(ctx); err != nil || !ok || r.Ckpt != 2 {
				t.Errorf("%+v %v %v", r, ok, err)
			}
			return nil
		}))
		cl.mustRestart(3)
	}
}
