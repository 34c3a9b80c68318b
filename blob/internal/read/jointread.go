package read

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/comm"
)

// jointRead reads records of variables of one map and set. Each part of the data is read by one rank, which sends it to the
// ranks that want it.
type jointRead struct {
	*Collective
	js     *jointSet
	own    *owners
	jobs   []job
	width  int64  // total size of one element of each job
	buf    []byte // what this rank has read: elements of the first job, then of the next
	fm     Form
	rounds int64 // number of rounds; several rounds limit the data that a rank sends at once
	err    error // error of this rank, which then sends nothing
}

// newRead prepares the exchange of a batch. If exact is false, reads may cover more elements where that is faster.
func (k *Collective) newRead(b *batch, exact bool) *jointRead {
	x := &jointRead{Collective: k, js: b.js, own: b.own, jobs: b.read, fm: Form{Big: b.js.lead.Place.Big, exact: exact}, err: b.err}
	if k.r.Files.Opt.Verify == VerifyOnce || exact && k.r.Files.Opt.Verify == VerifyWhole {
		x.fm.Known = k.known
	}
	for i := range x.jobs {
		j := &x.jobs[i]
		j.at = x.width * x.own.read
		x.width += j.size
		j.name, j.Fm, j.pf = fmt.Sprintf("variable %q", j.sv.Name), x.fm, k.r.Prover.newProof(x.js.lead, j.id, j.srec, x.fm)
	}
	x.rounds = max(1, (x.own.out*x.width+k.r.Files.Opt.Memory/2-1)/(k.r.Files.Opt.Memory/2))
	return x
}

// load reads this rank's share.
func (x *jointRead) load(ctx context.Context, v *jointView) {
	x.buf = x.Collective.buf.of(x.own.read*x.width, x.r.Files.Opt.Memory)
	switch {
	case x.err != nil:
	case x.jobs[0].key.d == 0:
		x.err = x.readFlat(ctx, v)
	default:
		x.err = x.readBlobs(ctx, v)
	}
}

// exchange reads this rank's share of a batch, sends the parts to the ranks that want them, and receives the elements of the
// plan. If got is not nil, these are the messages of the exchange that has begun. Collective.
func (k *Collective) exchange(ctx context.Context, b *batch, exact bool, got [][]byte) error {
	x := b.x
	if got == nil {
		x = k.newRead(b, exact)
		view := k.view
		if x.jobs[0].key.d == 0 {
			view = k.flatView
		}
		v, err := view(ctx, x.js, x.jobs[0].key.d)
		if err != nil {
			return err
		}
		x.load(ctx, v)
	}
	for round := range x.rounds {
		if got == nil {
			var err error
			if got, err = k.C.Alltoallv(ctx, x.messages(round)); err != nil {
				return err
			}
		}
		x.take(got, round)
		got = nil
	}
	for i := range x.jobs {
		if x.err == nil {
			x.err = x.jobs[i].pf.judge(ctx)
		}
	}
	return comm.Agree(ctx, k.C, x.err)
}

// readBlobs reads this rank's share of the jobs.
func (x *jointRead) readBlobs(ctx context.Context, v *jointView) error {
	d := int(x.jobs[0].key.d) - 1
	base := x.js.home.base[d]
	var list []fetch
	piece := func(p *viewPart, j int, skip, n, to int64, w *job) {
		off, _, ext := p.Place.Spot(p.Table, j, int32(w.id), w.srec)
		f := fetch{p.FilePart, off + skip*w.size, w.at + to*w.size, n * w.size, ext + skip*w.size, &w.Want}
		if l := len(list) - 1; l >= 0 && list[l].p == f.p && list[l].w == f.w && list[l].off+list[l].n == f.off && list[l].at+list[l].n == f.at &&
			list[l].to+list[l].n == f.to && list[l].n+f.n <= ReadBatch {
			list[l].n += f.n
			return
		}
		list = append(list, f)
	}
	// pieces lists the pieces to read for some jobs: one for each wanted part of a blob.
	pieces := func(jobs []job) error {
		part := 0
		for _, u := range x.own.union {
			for u.n > 0 {
				for base[part+1] <= u.at {
					part++
				}
				n := min(u.n, base[part+1]-u.at)
				if p := v.files[part]; p != nil { // otherwise the subfile is damaged, and the ranks that want its data know
					if err := p.blobs(d, u.at-base[part], n, func(j int, skip, m, done int64) error {
						for i := range jobs {
							piece(p, j, skip, m, u.to+done, &jobs[i])
						}
						if len(list) < fetchChunk {
							return nil
						}
						err := x.r.Elems.fetchAll(ctx, list, x.buf, x.fm)
						list = list[:0]
						return err
					}); err != nil {
						return err
					}
				}
				u.at, u.n, u.to = u.at+n, u.n-n, u.to+n
			}
		}
		return nil
	}
	step := 1
	if x.js.lead.Place.ByRank { // all variables of a blob are read together
		step = len(x.jobs)
	}
	for jobs := range slices.Chunk(x.jobs, step) {
		if err := pieces(jobs); err != nil {
			return err
		}
	}
	return x.r.Elems.fetchAll(ctx, list, x.buf, x.fm)
}

// blobs calls f for each blob that has elements of [x, x+n) of map d in the part. f receives the blob's number j in the table.
// skip is the number of the blob's elements before x, n the number of its elements in the range, and done the number of elements
// that earlier blobs have in the range.
func (p *viewPart) blobs(d int, x, n int64, f func(j int, skip, n, done int64) error) error {
	t, nd := p.Table, p.Place.Header.Maps
	j := sort.Search(len(t.ID), func(j int) bool { return t.Start[j*nd+d]+t.Count[j*nd+d] > x })
	for done := int64(0); done < n && j < len(t.ID); j++ {
		skip := x + done - t.Start[j*nd+d]
		m := min(n-done, t.Count[j*nd+d]-skip)
		if m <= 0 {
			continue
		}
		if err := f(j, skip, m, done); err != nil {
			return err
		}
		done += m
	}
	return nil
}

// readFlat is readBlobs for variables without a map.
func (x *jointRead) readFlat(ctx context.Context, v *jointView) error {
	if len(x.own.union) == 0 {
		return nil
	}
	p := v.files[x.js.first]
	if p == nil {
		return fmt.Errorf("%s: this rank got a request for data of another rank: %w", x.r.Files.Base, dataset.ErrBroken)
	}
	for i := range x.jobs {
		w := x.jobs[i].Want
		w.Dst = x.buf[x.jobs[i].at:][:x.own.read*w.size]
		if err := x.r.Elems.flatRuns(ctx, p.FilePart, &w, func(yield func(int64, int64) bool) {
			for _, u := range x.own.union {
				if !yield(u.at, u.n) {
					return
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}
