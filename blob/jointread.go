package blob

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"

	"blobio/blob/internal/checksum"
	"blobio/comm"
)

// exchange reads what this rank's share has of records of variables of one map and set, sends it to who wants it, and receives what the plan
// wants. Reads are exact, or of more than is wanted where that is faster. Collective.
func (k *Collective) exchange(ctx context.Context, js *jointSet, own *owners, jobs []job, exact bool) error {
	v, err := k.viewOf(ctx, js, jobs[0].key.d)
	if err != nil {
		return err
	}
	proofs := make([]*proof, len(jobs))
	at := make([]int64, len(jobs)) // of each job in what is read, for each element
	for i := range jobs {
		proofs[i], at[i] = k.proof(js, &jobs[i], exact), width(jobs[:i])
	}
	buf := make([]byte, own.read*width(jobs))
	fm := form{big: js.lead.place.Big, exact: exact}
	if jobs[0].key.d == 0 {
		err = k.readFlat(ctx, js, v, own, jobs, proofs, at, buf, fm)
	} else {
		err = k.readBlobs(ctx, js, v, own, jobs, proofs, at, buf, fm)
	}
	// What leaves a rank at once has bounds, and what all want alike is read once only.
	rounds := max(1, (own.out*width(jobs)+k.r.opt.Memory/2-1)/(k.r.opt.Memory/2))
	for round := range rounds {
		if e := k.send(ctx, js, own, jobs, proofs, at, buf, round, rounds, err != nil); e != nil {
			return e
		}
	}
	for _, pf := range proofs {
		if err == nil {
			err = pf.judge(ctx)
		}
	}
	return comm.Agree(ctx, k.c, err)
}

func (k *Collective) viewOf(ctx context.Context, js *jointSet, d DecompID) (*jointView, error) {
	if d == 0 {
		return k.flatView(ctx, js)
	}
	return k.view(ctx, js, d)
}

// proof is Reader.proof for what all ranks read together.
func (k *Collective) proof(js *jointSet, j *job, exact bool) *proof {
	r := k.r
	if r.manifest == nil || r.opt.Verify == VerifyNever || js.packed() {
		return nil
	}
	p := &proof{v: js.lead.place.fileVar(j.id), rec: j.srec, parts: map[*filePart]*checksum.Set{}}
	switch {
	case r.opt.Verify == VerifyAlways:
		p.all = true
	case r.opt.Verify == VerifyOnce || exact:
		p.all, p.known = true, k.known
	}
	return p
}

// readBlobs reads what this rank's share has of several records of variables into buf: elements of the first one, then of the next.
func (k *Collective) readBlobs(ctx context.Context, js *jointSet, v *jointView, own *owners, jobs []job, proofs []*proof, at []int64, buf []byte, fm form) error {
	d := int(jobs[0].key.d) - 1
	base := js.home.base[d]
	of := make([]*fetched, len(jobs))
	for i := range jobs {
		of[i] = &fetched{int(jobs[i].size), fmt.Sprintf("variable %q", jobs[i].sv.Name), proofs[i]}
	}
	var list []fetch
	piece := func(p *viewPart, j int, skip, n, to int64, i int) {
		off, _, ext := p.place.Spot(p.table, j, int32(jobs[i].id), jobs[i].srec)
		size := jobs[i].size
		f := fetch{p.filePart, off + skip*size, at[i]*own.read + to*size, n * size, ext + skip*size, of[i]}
		if l := len(list) - 1; l >= 0 && list[l].p == f.p && list[l].v == f.v && list[l].off+list[l].n == f.off && list[l].at+list[l].n == f.at &&
			list[l].to+list[l].n == f.to && list[l].n+f.n <= readBatch {
			list[l].n += f.n
			return
		}
		list = append(list, f)
	}
	// blobs calls f for each part of a blob that is wanted.
	blobs := func(f func(p *viewPart, j int, skip, n, to int64) error) error {
		part := 0
		for _, x := range own.union {
			for x.n > 0 {
				for base[part+1] <= x.at {
					part++
				}
				n := min(x.n, base[part+1]-x.at)
				if p := v.files[part]; p != nil { // else it is damaged, and who wants it knows
					if err := p.blobs(d, x.at-base[part], n, func(j int, skip, m, done int64) error { return f(p, j, skip, m, x.to+done) }); err != nil {
						return err
					}
				}
				x.at, x.n, x.to = x.at+n, x.n-n, x.to+n
			}
		}
		return nil
	}
	full := func() error {
		if len(list) < fetchChunk {
			return nil
		}
		err := k.r.fetchAll(ctx, list, buf, fm)
		list = list[:0]
		return err
	}
	var err error
	if js.lead.place.ByRank { // what a blob has of all of them is read together
		err = blobs(func(p *viewPart, j int, skip, n, to int64) error {
			for i := range jobs {
				piece(p, j, skip, n, to, i)
			}
			return full()
		})
	} else {
		for i := 0; i < len(jobs) && err == nil; i++ {
			err = blobs(func(p *viewPart, j int, skip, n, to int64) error {
				piece(p, j, skip, n, to, i)
				return full()
			})
		}
	}
	if err != nil {
		return err
	}
	return k.r.fetchAll(ctx, list, buf, fm)
}

// blobs calls f for the blobs that have elements [x, x+n) of map d of the part: with the blob's number in the table, the elements of it that are
// before, how many there are, and how many came before.
func (p *viewPart) blobs(d int, x, n int64, f func(j int, skip, n, done int64) error) error {
	t, nd := p.table, p.place.NumMaps()
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
func (k *Collective) readFlat(ctx context.Context, js *jointSet, v *jointView, own *owners, jobs []job, proofs []*proof, at []int64, buf []byte, fm form) error {
	p := v.files[js.first]
	if len(own.union) == 0 {
		return nil
	}
	if p == nil {
		return fmt.Errorf("%s: a rank is asked for what another has: %w", k.r.base, ErrBroken)
	}
	for i := range jobs {
		j := &jobs[i]
		dst := buf[at[i]*own.read:][:own.read*j.size]
		if err := k.r.flatRuns(ctx, p.filePart, j.id, j.sv, j.rec, j.srec, func(yield func(int64, int64) bool) {
			for _, x := range own.union {
				if !yield(x.at, x.n) {
					return
				}
			}
		}, dst, fm, proofs[i]); err != nil {
			return err
		}
	}
	return nil
}

// send sends a part of what was read, and in the first round what it sums to; and receives a part of what is wanted. Collective.
func (k *Collective) send(ctx context.Context, js *jointSet, own *owners, jobs []job, proofs []*proof, at []int64, buf []byte, round, rounds int64, failed bool) error {
	ranks, me := k.c.Size(), k.c.Rank()
	sums := map[int][]extentSums{}
	if !failed && round == 0 {
		sums = k.sums(js, proofs)
	}
	var msgs [][]byte // of a job of many ranks most send nothing
	if !failed && len(own.to)+len(sums) > 0 {
		msgs = make([][]byte, ranks)
	}
	for rank := range msgs {
		l := own.to[rank]
		if rank == me && rounds == 1 {
			l = nil // see below
		}
		if len(l) == 0 && len(sums[rank]) == 0 {
			continue
		}
		var told []byte
		if len(sums[rank]) > 0 {
			told = encode(sums[rank])
		}
		n := elements(l)
		from, to := n*round/rounds, n*(round+1)/rounds
		b := make([]byte, 0, int64(len(told)+binary.MaxVarintLen64)+(to-from)*width(jobs))
		b = append(binary.AppendUvarint(b, uint64(len(told))), told...)
		for i := range jobs {
			src, size := buf[at[i]*own.read:], jobs[i].size
			eachBetween(l, from, to, func(x portion) { b = append(b, src[x.at*size:(x.at+x.n)*size]...) })
		}
		msgs[rank] = b
	}
	got, err := k.c.Alltoallv(ctx, msgs)
	if err != nil {
		return err
	}
	data := map[int][]byte{}
	for rank, b := range got {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			continue
		}
		data[rank] = b[w+int(n):]
		var told []extentSums
		if n > 0 {
			if err := decode(b[w:w+int(n)], &told); err != nil {
				return err
			}
		}
		for i := range told {
			x := &told[i]
			if pf := proofs[x.Ext]; pf != nil && js.kept[x.Part] != nil {
				x.addTo(pf.of(js.kept[x.Part]), 0)
			}
		}
	}
	for share := range own.parts {
		l, rank := own.from[own.bound[share]:own.bound[share+1]], own.rankOf(share, ranks)
		if len(l) == 0 || failed && rank == me {
			continue
		}
		if rank == me && rounds == 1 {
			for i := range jobs {
				src, dst, size := buf[at[i]*own.read:], jobs[i].got, jobs[i].size
				for n, x := range l {
					copy(dst[x.to*size:(x.to+x.n)*size], src[own.to[me][n].at*size:])
				}
			}
			continue
		}
		n := elements(l)
		from, to := n*round/rounds, n*(round+1)/rounds
		b := data[rank]
		if int64(len(b)) != (to-from)*width(jobs) {
			continue // it has failed: all will hear of it
		}
		for i := range jobs {
			dst, size := jobs[i].got, jobs[i].size
			eachBetween(l, from, to, func(x portion) { b = b[copy(dst[x.to*size:(x.to+x.n)*size], b):] })
		}
	}
	return nil
}

// sums takes from proofs what others are the keepers of, by rank. Of extentSums Ext is the number of the job.
func (k *Collective) sums(js *jointSet, proofs []*proof) map[int][]extentSums {
	to := map[int][]extentSums{}
	for i, pf := range proofs {
		if pf == nil {
			continue
		}
		for part, s := range pf.parts {
			if js.kept[part.index] == part {
				continue
			}
			rank := k.keeper(js.s, part.index)
			to[rank] = append(to[rank], sumsOf(part.index, i, s.Ext[0]))
			delete(pf.parts, part)
			pf.last.Store(nil)
		}
	}
	return to
}

// width is the bytes of one element of each.
func width(jobs []job) (n int64) {
	for i := range jobs {
		n += jobs[i].size
	}
	return n
}

// elements of portions.
func elements(l []portion) (n int64) {
	for _, x := range l {
		n += x.n
	}
	return n
}

// eachBetween calls f for elements [from, to) of portions, counted through them.
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
