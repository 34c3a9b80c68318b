package pio

import (
	"context"
	"fmt"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/blob/dyn"
)

// A job assembles one record of a variable from several writes over the record's former elements. Each rank has the part given by
// the route.
type job struct {
	r      *route
	rec    int64
	writes []*write
	lo, hi int64  // range of this rank's elements
	buf    []byte // bytes of this rank's elements
}

func (j *job) size() int64 { return int64(j.r.v.t.Size()) }

// zeros reports whether unwritten elements become 0 instead of the fill value. This is so if only PutVars has written the record,
// and the variable has neither a fill mode nor a fill value. Programs rely on this in files of PIO.
func (j *job) zeros() bool {
	return j.r.v.nofill && fillAtt(j.r.v) == nil && len(j.writes) > 0 && !slices.ContainsFunc(j.writes, func(w *write) bool { return w.d != nil })
}

// assembly assembles the records of jobs and puts them into a writer.
type assembly struct {
	s     *System
	base  *base
	w     *blob.Writer
	limit int64 // maximum bytes of a batch
}

// put assembles jobs in batches and puts their records. Collective.
func (a *assembly) put(ctx context.Context, jobs []*job) error {
	ranks := int64(a.s.c.Size())
	for len(jobs) > 0 {
		n := 0
		for room := a.limit; n < len(jobs); n++ {
			bytes := jobs[n].r.elems * jobs[n].size()
			if jobs[n].r.routing == share {
				bytes /= ranks
			}
			for _, w := range jobs[n].writes {
				bytes += w.size
			}
			if room -= bytes; room < 0 && n > 0 {
				break
			}
		}
		if err := a.batch(ctx, jobs[:n]); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

func (a *assembly) batch(ctx context.Context, jobs []*job) error {
	c := a.s.c
	for _, j := range jobs {
		j.lo, j.hi = j.r.bounds(a.s.root(), c.Rank(), c.Size())
		j.buf = make([]byte, (j.hi-j.lo)*j.size())
		if !j.zeros() {
			cdf5.FillBytes(j.buf, j.r.v.t, elem.HostOrder(), fillAtt(j.r.v))
		}
	}
	if err := a.former(ctx, jobs); err != nil {
		return err
	}
	out := make([][]byte, c.Size())
	send(jobs, out, a.s.root(), c.Size())
	in, err := c.Alltoallv(ctx, out)
	if err != nil {
		return err
	}
	err = receive(jobs, in)
	if err := agree(ctx, c, err); err != nil {
		return err
	}
	if err := a.spread(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if e := dyn.Put(a.w, j.r.id, j.rec, cdf5.View(j.r.v.t, j.buf)); e != nil && err == nil {
			err = e
		}
	}
	if err := agree(ctx, c, err); err != nil {
		return err
	}
	err = a.w.Flush(ctx)
	for _, j := range jobs {
		j.buf = nil
	}
	return err
}

// former reads the elements of jobs from the base, except for jobs that overwrite all elements. Collective.
func (a *assembly) former(ctx context.Context, jobs []*job) error {
	type group struct {
		routing routing
		elems   int64
	}
	gets := map[group][]blob.Get{}
	runs := map[group][]decomp.Req{}
	var order []group
	for _, j := range jobs {
		if j.rec >= j.r.old || len(j.writes) > 0 && j.writes[0].whole() && j.writes[0].n == j.r.elems {
			continue
		}
		g := group{j.r.routing, j.r.elems}
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
	k, err := a.base.collective(ctx, a.s.c)
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

// spread sends the root's data of variables without a decomposition to all ranks. Collective.
func (a *assembly) spread(ctx context.Context, jobs []*job) error {
	var all []byte
	some := false
	for _, j := range jobs {
		if j.r.routing == whole {
			some = true
			all = append(all, j.buf...)
		}
	}
	if !some {
		return nil
	}
	if a.s.c.Rank() != a.s.root() {
		all = nil
	}
	all, err := a.s.c.Bcast(ctx, a.s.root(), all)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.r.routing != whole {
			continue
		}
		n := j.r.elems * j.size()
		if int64(len(all)) < n {
			return fmt.Errorf("received %d bytes of %q, want %d", len(all), j.r.name, n)
		}
		if j.buf == nil || int64(len(j.buf)) != n {
			j.buf = make([]byte, n)
		}
		copy(j.buf, all)
		all = all[n:]
	}
	return nil
}
