package scr

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/vfs"
)

// TestFaults fails each operation of the file system in turn, for once or from then on: the run ends without an error or
// with one on all ranks, nothing hangs, and a new run on the same disks, well again, finds what was completed.
func TestFaults(t *testing.T) {
	long := os.Getenv("BLOBIO_LONG") != ""
	story := func(cl *cluster, p *progress) error { return cl.matrixRun(p) }
	count := fourNodes(t).set("SCR_FLUSH", "2")
	counter := vfs.Count(count.fs)
	count.fs = counter
	var p progress
	must(t, story(count, &p))
	total := counter.Ops()
	step := int64(97)
	if long {
		step = 3
	}
	t.Logf("%d operations", total)
	for _, dies := range []bool{false, true} {
		for n := int64(1); n <= total; n += step {
			cl := fourNodes(t).set("SCR_FLUSH", "2")
			mem := cl.fs
			for _, node := range cl.nodes {
				mkdirs(t, mem, "/nodes/"+node+"/local")
			}
			cl.ready, cl.conf = true, mem
			var ops atomic.Int64
			cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
				k := ops.Add(1)
				if k == n || dies && k > n {
					if k%2 == 0 {
						return syscall.ENOSPC
					}
					return syscall.EIO
				}
				return nil
			})
			var p progress
			err := story(cl, &p)
			if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "error") {
				t.Logf("operation %d: %v", n, err)
			}
			next := *cl
			next.fs = mem
			got, rerr := next.restart()
			if rerr != nil {
				t.Errorf("operation %d (dies: %v): the next run: %v", n, dies, rerr)
				continue
			}
			if got < p.done || got > max(p.began, matrixLast) {
				t.Errorf("operation %d (dies: %v): restarted from %d, %d were completed; the run said %v", n, dies, got, p.done, err)
			}
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
