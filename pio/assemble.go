package pio

import (
	"context"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/blob/dyn"
)

// A job is one record of a variable that is put together of several writes, over what was there: each rank has the part that its route gives it.
type job struct {
	r      *route
	rec    int64
	writes []*write
	lo, hi int64  // elements of this rank
	buf    []byte // of them
}

func (j *job) size() int64 { return int64(j.r.v.t.Size()) }

// assemble puts jobs together and puts them, some at a time. Collective.
func (f *File) assemble(ctx context.Context, jobs []*job) error {
	defer f.stats.spend(assembling)()
	ranks := int64(f.s.c.Size())
	for len(jobs) > 0 {
		n := 0
		for room := f.limits.batch; n < len(jobs); n++ {
			bytes := jobs[n].r.elems * jobs[n].size()
			if jobs[n].r.way == share {
				bytes /= ranks
			}
			for _, w := range jobs[n].writes {
				bytes += w.size
			}
			if room -= bytes; room < 0 && n > 0 {
				break
			}
		}
		if err := f.batch(ctx, jobs[:n]); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

func (f *File) batch(ctx context.Context, jobs []*job) error {
	c := f.s.c
	for _, j := range jobs {
		j.lo, j.hi = j.r.bounds(f.s.root(), c.Rank(), c.Size())
		j.buf = make([]byte, (j.hi-j.lo)*j.size())
		cdf5.FillBytes(j.buf, j.r.v.t, elem.HostOrder(), fillAtt(j.r.v))
	}
	if err := f.former(ctx, jobs); err != nil {
		return err
	}
	out := make([][]byte, c.Size())
	send(jobs, out, f.s.root(), c.Size())
	in, err := c.Alltoallv(ctx, out)
	if err != nil {
		return err
	}
	err = receive(jobs, in)
	if err := agree(ctx, c, err); err != nil {
		return err
	}
	if err := f.tell(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if e := dyn.Put(f.w.w, j.r.id, j.rec, cdf5.View(j.r.v.t, j.buf)); e != nil && err == nil {
			err = e
		}
	}
	if err := agree(ctx, c, err); err != nil {
		return err
	}
	err = f.w.w.Flush(ctx)
	for _, j := range jobs {
		j.buf = nil
	}
	return err
}

// former reads what the base has of jobs, unless all of it is written over.
func (f *File) former(ctx context.Context, jobs []*job) error {
	type group struct {
		way   way
		elems int64
	}
	gets := map[group][]blob.Get{}
	runs := map[group][]decomp.Req{}
	var order []group
	for _, j := range jobs {
		if j.rec >= j.r.old || len(j.writes) > 0 && j.writes[0].whole() && j.writes[0].n == j.r.elems {
			continue
		}
		g := group{j.r.way, j.r.elems}
		if gets[g] == nil {
			order = append(order, g)
			if j.hi > j.lo {
				runs[g] = []decomp.Req{{Offset: j.lo, Length: j.hi - j.lo}}
			}
		}
		gets[g] = append(gets[g], blob.Get{Name: j.r.v.stored, Record: j.rec, Into: cdf5.View(j.r.v.t, j.buf)})
	}
	if len(order) == 0 {
		return nil
	}
	k, err := f.base.collective(ctx, f.s.c)
	if err != nil {
		return err
	}
	for _, g := range order {
		if err := k.Plan(runs[g]).Read(ctx, gets[g]...); err != nil {
			return err
		}
	}
	return nil
}

// tell gives all ranks what the root has of variables that are not decomposed.
func (f *File) tell(ctx context.Context, jobs []*job) error {
	var all []byte
	some := false
	for _, j := range jobs {
		if j.r.way == whole {
			some = true
			all = append(all, j.buf...)
		}
	}
	if !some {
		return nil
	}
	if f.s.c.Rank() != f.s.root() {
		all = nil
	}
	all, err := f.s.c.Bcast(ctx, f.s.root(), all)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.r.way != whole {
			continue
		}
		n := j.r.elems * j.size()
		if int64(len(all)) < n {
			return fmt.Errorf("%d bytes of %q, want %d", len(all), j.r.name, n)
		}
		if j.buf == nil || int64(len(j.buf)) != n {
			j.buf = make([]byte, n)
		}
		copy(j.buf, all)
		all = all[n:]
	}
	return nil
}
