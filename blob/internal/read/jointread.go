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
	failed bool  // reading has failed on this rank
}

// exchange reads this rank's share of the jobs, sends the parts to the ranks that want them, and receives the elements of the
// plan. If exact is false, reads may cover more elements where that is faster. A rank with an error takes part without reading.
// Collective.
func (k *Collective) exchange(ctx context.Context, js *jointSet, own *owners, jobs []job, exact bool, err error) error {
	x := &jointRead{Collective: k, js: js, own: own, jobs: jobs, fm: Form{Big: js.lead.Place.Big, exact: exact}}
	if k.r.Files.Opt.Verify == VerifyOnce || exact && k.r.Files.Opt.Verify == VerifyWhole {
		x.fm.Known = k.known
	}
	for i := range jobs {
		j := &jobs[i]
		j.at = x.width * own.read
		x.width += j.size
		j.name, j.Fm, j.pf = fmt.Sprintf("variable %q", j.sv.Name), x.fm, k.r.Prover.newProof(js.lead, j.id, j.srec, x.fm)
	}
	x.buf = k.buf.of(own.read * x.width)
	view, read := k.view, x.readBlobs
	if jobs[0].key.d == 0 {
		view, read = k.flatView, x.readFlat
	}
	v, e := view(ctx, js, jobs[0].key.d)
	if e != nil {
		return e
	}
	if err == nil {
		err = read(ctx, v)
	}
	x.failed = err != nil
	x.rounds = max(1, (own.out*x.width+k.r.Files.Opt.Memory/2-1)/(k.r.Files.Opt.Memory/2))
	for round := range x.rounds {
		if e := x.send(ctx, round); e != nil {
			return e
		}
	}
	for i := range jobs {
		if err == nil {
			err = jobs[i].pf.judge(ctx)
		}
	}
	return comm.Agree(ctx, k.C, err)
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

// ofRound returns which of n elements are sent in a round.
func (x *jointRead) ofRound(n, round int64) (from, to int64) {
	return n * round / x.rounds, n * (round + 1) / x.rounds
}

// send exchanges one round of the data, and in the first round also checksums. Collective.
func (x *jointRead) send(ctx context.Context, round int64) error {
	got, err := x.C.Alltoallv(ctx, x.messages(round))
	if err != nil {
		return err
	}
	data := make([][]byte, len(got))
	for rank, b := range got {
		sums, rest, err := parseSums(b)
		if err != nil {
			return err
		}
		data[rank] = rest
		for i := range sums {
			s := &sums[i]
			if pf := x.jobs[s.ext].pf; pf != nil && x.js.kept[s.part] != nil {
				s.addTo(pf.of(x.js.kept[s.part]), 0)
			}
		}
	}
	for share := range x.own.parts {
		x.receive(x.own.from[x.own.bound[share]:x.own.bound[share+1]], x.own.rankOf(share, x.C.Size()), round, data)
	}
	return nil
}

// messages returns the messages of this rank in a round. Without messages it returns nil, because in a job of many ranks most
// ranks send nothing.
func (x *jointRead) messages(round int64) (msgs [][]byte) {
	sums := map[int][]extentSums{}
	if !x.failed && round == 0 {
		sums = x.sums()
	}
	if x.failed || len(x.own.to)+len(sums) == 0 {
		return nil
	}
	msgs = make([][]byte, x.C.Size())
	lists, total := make([][]portion, len(msgs)), int64(0)
	for rank := range msgs {
		if rank != x.C.Rank() || x.rounds > 1 { // see receive
			lists[rank] = x.own.to[rank]
		}
		if len(lists[rank])+len(sums[rank]) == 0 {
			continue
		}
		msgs[rank] = appendSums(nil, sums[rank])
		from, to := x.ofRound(elements(lists[rank]), round)
		total += int64(len(msgs[rank])) + (to-from)*x.width
	}
	b := x.out.of(total)[:0]
	for rank, l := range lists {
		if len(msgs[rank]) == 0 {
			continue
		}
		start := len(b)
		b = append(b, msgs[rank]...)
		from, to := x.ofRound(elements(l), round)
		for i := range x.jobs {
			j := &x.jobs[i]
			src := x.buf[j.at:]
			eachBetween(l, from, to, func(u portion) { b = append(b, src[u.at*j.size:(u.at+u.n)*j.size]...) })
		}
		msgs[rank] = b[start:len(b):len(b)]
	}
	return msgs
}

// receive copies the elements in a rank's message into place. If there is only one round, a rank sends itself no message, and
// its own elements are copied from buf.
func (x *jointRead) receive(l []portion, rank int, round int64, data [][]byte) {
	mine := rank == x.C.Rank()
	switch {
	case len(l) == 0 || x.failed && mine:
	case mine && x.rounds == 1:
		read := x.own.to[rank]
		for i := range x.jobs {
			j := &x.jobs[i]
			src := x.buf[j.at:]
			for n, u := range l {
				copy(j.got[u.to*j.size:(u.to+u.n)*j.size], src[read[n].at*j.size:])
			}
		}
	default:
		from, to := x.ofRound(elements(l), round)
		b := data[rank]
		if int64(len(b)) != (to-from)*x.width {
			return // the sender has failed, and all ranks will learn of it
		}
		for i := range x.jobs {
			j := &x.jobs[i]
			eachBetween(l, from, to, func(u portion) { b = b[copy(j.got[u.to*j.size:(u.to+u.n)*j.size], b):] })
		}
	}
}

// sums returns, by keeper, the checksums of data of other keepers' subfiles. ext of extentSums is here the number of the job.
func (x *jointRead) sums() map[int][]extentSums {
	to := map[int][]extentSums{}
	for i := range x.jobs {
		pf := x.jobs[i].pf
		if pf == nil {
			continue
		}
		for part, s := range pf.parts {
			if x.js.kept[part.Index] == part {
				continue
			}
			rank := x.Keeper(x.js.s, part.Index)
			to[rank] = append(to[rank], extentSums{part.Index, i, s.Ext[0]})
			delete(pf.parts, part)
			pf.last.Store(nil)
		}
	}
	return to
}

// elements returns the number of elements of portions.
func elements(l []portion) (n int64) {
	for _, x := range l {
		n += x.n
	}
	return n
}

// eachBetween calls f for elements [from, to) of the concatenated portions.
func eachBetween(l []portion, from, to int64, f func(x portion)) {
	for _, x := range l {
		if from < x.n && to > 0 {
			a, b := max(from, 0), min(to, x.n)
			f(portion{x.at + a, b - a, x.to + a})
		}
		if from, to = from-x.n, to-x.n; to <= 0 {
			return
		}
	}
}
