package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
)

// measure does one run. If a process has an error, all processes return it.
func (s *sweeper) measure(ctx context.Context, run *SweepRun, dir string) error {
	pt := s.points[run.Point]
	t, err := s.load(pt)
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if s.first {
		err = s.makeDir(ctx, t, pt, dir)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	path := filepath.Join(dir, "sweep.nc")
	if pt.layout() == blob.ProcessCentric {
		path = filepath.Join(dir, "sweep.h5")
	}
	rank := func(ctx context.Context, g sweepGroup) error {
		k := &sweepRank{task: t, plan: &s.Plan, pt: pt, c: g.c, node: g.node, nodes: g.nodes, path: path, processes: s.World != nil}
		if s.fail != nil {
			k.failure = func(rank int) error { return s.fail(rank, run.Run) }
		}
		return k.do(ctx, run)
	}
	if s.World == nil {
		o := &comm.Options{RanksPerNode: pt.int("ranks-per-node")}
		err = verdict.FirstCause(comm.Run(ctx, pt.int("ranks"), o, func(ctx context.Context, c comm.Comm) error {
			g, err := newSweepGroup(ctx, c)
			if err != nil {
				return err
			}
			return rank(ctx, g)
		}))
	} else {
		var g sweepGroup
		if g, err = s.group(ctx, pt.int("ranks"), pt.int("ranks-per-node")); err == nil && g.c != nil {
			err = rank(ctx, g)
		}
		err = s.agree(ctx, err)
	}
	if err == nil && s.first {
		err = s.look(ctx, run, path)
	}
	return s.agree(ctx, err)
}

// makeDir creates the directory of a run if there is enough space.
func (s *sweeper) makeDir(ctx context.Context, t *task, pt SweepPoint, dir string) error {
	size := t.fileBytes()
	_, free := fileSystem(s.Plan.Dir)
	switch {
	case s.Plan.Space > 0 && size > s.Plan.Space:
		return fmt.Errorf("the files need about %d bytes, but the space limit is %d", size, s.Plan.Space)
	case free > 0 && size > free/10*9:
		return fmt.Errorf("the files need about %d bytes, but only %d are free", size, free)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if !s.Plan.Stripe {
		return nil
	}
	return s.fs.setStripe(ctx, dir, pt.int("stripe-size"), pt.int("stripe-count"))
}

// look adds the figures that are found in the files.
func (s *sweeper) look(ctx context.Context, run *SweepRun, path string) (err error) {
	set, err := subfile.Find(vfs.OS, path)
	if err != nil {
		return err
	}
	run.Files = set.Len()
	run.Bytes, err = datasetBytes(ctx, path)
	return err
}

// load makes the maps and values of a point, or reuses the maps and values of the last point if
// they are the same.
func (s *sweeper) load(pt SweepPoint) (*task, error) {
	key := strings.Join([]string{pt["case"], pt["ranks"]}, " ")
	if s.key != key {
		t, err := s.Plan.task(pt, pt.int("ranks"))
		if err != nil {
			return nil, err
		}
		s.task, s.key = t, key
		runtime.GC()
	}
	t := *s.task
	t.Flush = int64(pt.int("flush"))
	if t.Flush == 0 {
		t.Flush = -1
	}
	fixed, record := t.dataBytes()
	share := int64(1) // number of processes that share the data
	if s.World != nil {
		share = int64(pt.int("ranks"))
	}
	room := s.Plan.Memory - fixed/share
	if record/share > room {
		return nil, fmt.Errorf("a process holds %d bytes of a record, but the memory limit is %d", (fixed+record)/share, s.Plan.Memory)
	}
	if record > 0 {
		t.Distinct = min(t.Records, max(room/max(record/share, 1), 1))
	}
	return &t, nil
}
