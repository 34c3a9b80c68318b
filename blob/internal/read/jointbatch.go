package read

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/elem"
)

// batch is a read of records of variables with the same map and set.
type batch struct {
	p    *ReadPlan
	js   *jointSet
	own  *owners
	jobs []job
	read []job      // the jobs whose variables the set has
	err  error      // error of this rank; it takes part without reading
	x    *jointRead // an exchange that has begun
}

func (p *ReadPlan) batch(js *jointSet, own *owners, jobs []job) *batch {
	b := &batch{p: p, js: js, own: own, jobs: jobs}
	lacks := own.lacks(js, jobs[0].key.d, p.wanted())
	width := int64(0)
	for i := range jobs {
		j := &jobs[i]
		if js.lead != nil {
			var err error
			if j.id, err = js.s.lookUp(js.vars, j.V, j.sv); err != nil {
				b.err, j.id = err, 0 // take part in the exchange
			}
		}
		if j.holes = lacks; j.id < 0 && p.wanted() > 0 {
			j.holes = []decomp.Req{{Length: p.wanted()}}
		}
		if p.straight && j.out.raw != nil && (!j.keep || len(j.holes) == 0) {
			j.got = j.out.raw
		} else {
			j.got, width = nil, width+j.size
		}
	}
	got := p.k.got.of(p.wanted()*width, p.k.r.Files.Opt.Memory)
	for i := range jobs {
		j := &jobs[i]
		if j.got == nil {
			j.got, got = got[:p.wanted()*j.size], got[p.wanted()*j.size:]
		}
		if j.id >= 0 && js.lead != nil {
			b.read = append(b.read, *j)
		}
	}
	if b.err == nil && len(b.read) > 0 {
		b.err = own.damage(js, jobs[0].key.d)
	}
	return b
}

// ready begins the exchange of a batch of all jobs, if this rank knows everything about the set and map, and needs only one
// round. Otherwise it returns nil.
func (p *ReadPlan) ready(ctx context.Context, jobs []job) *batch {
	if len(jobs) == 0 {
		return nil
	}
	key := jobs[0].key
	js, own := p.k.sets[jobs[0].s], p.own[key]
	if js == nil || js.views[key.d] == nil || p.k.together(own, jobs) < len(jobs) {
		return nil
	}
	b := p.batch(js, own, jobs)
	if len(b.read) == 0 {
		return nil
	}
	if b.x = p.k.newRead(b, false); b.x.rounds > 1 {
		return nil
	}
	b.x.load(ctx, js.views[key.d])
	return b
}

// run reads the data, or goes on with the exchange that has begun and whose messages are got. If some rank converts numbers,
// which can fail, all ranks agree at the end. Collective.
func (b *batch) run(ctx context.Context, got [][]byte, converts bool) error {
	p, js := b.p, b.js
	if len(b.read) > 0 {
		err := p.k.exchange(ctx, b, false, got)
		if err != nil { // all ranks learn of the error, but it may concern bytes that no rank wants
			err = p.k.exchange(ctx, b, true, nil)
		}
		if err != nil {
			return err
		}
	}
	var err error
	for i := range b.jobs {
		j := &b.jobs[i]
		if e := p.deliver(js, j); e != nil && err == nil {
			err = fmt.Errorf("%s: read of %q, record %d: %w", p.k.r.Files.Base, j.sv.Name, j.Rec, e)
		}
	}
	if !converts {
		return nil
	}
	return comm.Agree(ctx, p.k.C, err)
}

// deliver converts received elements into the caller's slice.
func (p *ReadPlan) deliver(js *jointSet, j *job) error {
	holes := j.holes
	if js.lead != nil && js.lead.Place.Big != dataset.HostBig {
		elem.Swap(j.got, j.got, int(j.size))
	}
	if !j.keep {
		for _, q := range holes {
			Form{Big: dataset.HostBig, Zero: p.k.r.Files.Opt.ZeroFill}.fill(j.got[q.Offset*j.size:q.End()*j.size], j.sv)
		}
		holes = nil
	}
	if p.straight && j.out.raw != nil && len(holes) == 0 {
		if len(j.got) > 0 && &j.got[0] != &j.out.raw[0] {
			copy(j.out.raw, j.got)
		}
		return nil
	}
	for to, u := range p.moves(holes) {
		src := j.got[u.Offset*j.size : u.End()*j.size]
		if j.out.raw != nil {
			copy(j.out.raw[to*j.size:], src)
		} else if err := cdf5.FromFile(subslice(j.out.dst, to, u.Length), src, dataset.HostBig, j.sv.Type); err != nil {
			return err
		}
	}
	return nil
}

// moves yields contiguous ranges of received elements, each with its position in the caller's slice. It leaves out the holes,
// which are sorted.
func (p *ReadPlan) moves(holes []decomp.Req) iter.Seq2[int64, decomp.Req] {
	return func(yield func(int64, decomp.Req) bool) {
		to := int64(0)
		for _, q := range p.runs {
			at := p.place(q.Offset)
			end := at + q.Length
			i := sort.Search(len(holes), func(i int) bool { return holes[i].End() > at })
			for x := at; x < end; i++ {
				stop := end
				if i < len(holes) {
					stop = min(end, holes[i].Offset)
				}
				if stop > x && !yield(to+x-at, decomp.Req{Offset: x, Length: stop - x}) {
					return
				}
				if x = stop; i < len(holes) && x < end {
					x = holes[i].End()
				}
			}
			to += q.Length
		}
	}
}
