package redset

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// lane is a part of a job that one worker does.
type lane struct {
	i      int // index of the job
	j      *job
	lo, hi int64
	w      *worker // the worker that has done the lane
}

// queue holds the lanes of one member. All members of a set take lanes from all queues. Therefore no core is idle while lanes
// are left.
type queue struct {
	lanes []*lane
	next  atomic.Int64 // next lane, for all members; used only in the queue of the first member
	stop  atomic.Bool  // used only in the queue of the first member
}

// local runs the jobs together with the members that share memory. Each core works on one lane at a time.
func (e *engine) local(ctx context.Context) error {
	if len(e.jobs) == 0 {
		return ctx.Err()
	}
	own := &queue{}
	for i, j := range e.jobs {
		if !e.mine(j) {
			continue
		}
		n := e.lay.length(j.c)
		step := (max(minLane, n/maxLanes) + localPiece - 1) / localPiece * localPiece
		for lo := int64(0); lo < n || lo == 0; lo += step {
			own.lanes = append(own.lanes, &lane{i: i, j: j, lo: lo, hi: min(n, lo+step)})
		}
	}
	queues := []*queue{own}
	if e.c != nil {
		all, err := e.c.Share(ctx, own)
		if err != nil {
			return err
		}
		queues = queues[:0]
		for _, v := range all {
			q, ok := v.(*queue)
			if !ok {
				return formatErr("", -1, "message", "a member does not share its lanes", fault.ErrUsage)
			}
			queues = append(queues, q)
		}
	}
	err := e.lanes(ctx, queues)
	if e.c != nil {
		if berr := e.c.Barrier(ctx); berr != nil {
			return errors.Join(err, berr)
		}
	}
	if err != nil || queues[0].stop.Load() {
		return err // the caller gets errors of other members when all members agree
	}
	var whole *worker
	for x, l := range own.lanes {
		if x == 0 || l.i != own.lanes[x-1].i {
			whole = l.w
		} else {
			whole.join(l.w)
		}
		e.keepOutcome(l.i, whole)
	}
	return nil
}

// lanes runs lanes of the queues until none is left. All members together have as many workers as there are cores. If the cores
// cannot be divided evenly, the first members have one worker more.
func (e *engine) lanes(ctx context.Context, queues []*queue) error {
	var list []*lane // the same list on all members; adjacent lanes belong to different members
	for x, more := 0, true; more; x++ {
		more = false
		for _, q := range queues {
			if x < len(q.lanes) {
				list, more = append(list, q.lanes[x]), true
			}
		}
	}
	cores := runtime.GOMAXPROCS(0)
	workers := cores / len(queues)
	if max(e.me, 0) < cores%len(queues) {
		workers++
	}
	workers = min(workers, len(list))
	all := queues[0]
	errs := make([]error, workers)
	par.Do(workers, workers, func(x int) {
		var b buffers
		for !all.stop.Load() {
			i := all.next.Add(1) - 1
			if i >= int64(len(list)) {
				return
			}
			if errs[x] = e.lane(ctx, list[i], &b); errs[x] != nil {
				all.stop.Store(true)
			}
		}
	})
	return errors.Join(errs...)
}

// lane runs one lane.
func (e *engine) lane(ctx context.Context, l *lane, b *buffers) error {
	l.w = e.newWorker(l.j, b)
	for off := l.lo; off < l.hi; off += localPiece {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.w.piece(ctx, off, min(localPiece, l.hi-off)); err != nil {
			return err
		}
	}
	return nil
}
