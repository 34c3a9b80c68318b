package read

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/par"
)

// fetch is one read for a want: n bytes at offset off of a part, which go to dst[to:].
type fetch struct {
	p       *FilePart
	off, to int64
	n       int64
	at      int64 // offset in the extent
	w       *Want
}

// fetchChunk is how many pieces are looked up before they are read.
const fetchChunk = 1 << 18

// RawRuns reads scattered runs of canonical elements of one record, one after the other, into dst. It looks up the owners of
// the runs in the index of the map, so the cost depends on the runs, not on the size of the variable.
func (r *Elems) RawRuns(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	w := &Want{V: v, Rec: rec, Dst: dst, Fm: fm}
	if there, err := r.find(ctx, w); !there {
		return err
	}
	read := r.mappedRuns
	if w.sv.Decomp == 0 {
		read = func(ctx context.Context, w *Want, runs iter.Seq2[int64, int64]) error {
			return r.flatRuns(ctx, w.s.FirstPart(), w, runs)
		}
	}
	if err := read(ctx, w, runs); err != nil {
		return err
	}
	return w.pf.judge(ctx)
}

// mappedRuns is RawRuns for a decomposed variable.
func (r *Elems) mappedRuns(ctx context.Context, w *Want, runs iter.Seq2[int64, int64]) error {
	lo, hi := int64(math.MaxInt64), int64(0)
	for off, n := range runs {
		lo, hi = min(lo, off), max(hi, off+n)
	}
	g, err := r.Maps.partOf(ctx, w.s, w.sv.Decomp, lo, hi)
	if err != nil {
		return err
	}
	ix, err := g.index()
	if err != nil {
		return err
	}
	cov, err := g.cover()
	if err != nil {
		return err
	}
	if cov.Uncovered > 0 || w.s.incomplete() {
		w.Fm.fill(w.Dst, w.sv)
	}
	list, to := make([]fetch, 0, 1024), int64(0)
	for off, n := range runs {
		if err := g.lostIn(w.s, off, off+n); err != nil {
			return err
		}
		for o := range ix.Range(off, off+n) {
			p, j := w.s.Owner(o.Rank)
			if p.Place == nil {
				continue
			}
			a, _, at := p.Place.Spot(p.Table, j, int32(w.id), w.srec)
			list = append(list, fetch{p, a + o.Pos*w.size, to + (o.Off-off)*w.size, o.Len * w.size, at + o.Pos*w.size, w})
		}
		to += n * w.size
		if len(list) >= fetchChunk {
			if err := r.fetchAll(ctx, list, w.Dst, w.Fm); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	return r.fetchAll(ctx, list, w.Dst, w.Fm)
}

// flatRuns reads runs of a variable without a decomposition from a part, one after the other, into the want's memory. Ascending
// runs that are close together share a read.
func (r *Elems) flatRuns(ctx context.Context, p *FilePart, w *Want, runs iter.Seq2[int64, int64]) error {
	gap, dst := gap(p, w.Fm), w.Dst
	var near []decomp.Req
	var buf []byte
	flush := func() error {
		if len(near) == 0 {
			return nil
		}
		x := *w
		x.lo = near[0].Offset
		n := (near[len(near)-1].End() - x.lo) * w.size
		if len(near) == 1 {
			x.Dst, dst, near = dst[:n], dst[n:], near[:0]
			return r.flat(ctx, p, &x)
		}
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		x.Dst = buf[:n]
		if err := r.flat(ctx, p, &x); err != nil {
			return err
		}
		for _, q := range near {
			dst = dst[copy(dst, buf[(q.Offset-x.lo)*w.size:(q.End()-x.lo)*w.size]):]
		}
		near = near[:0]
		return nil
	}
	for off, n := range runs {
		if k := len(near); k > 0 {
			end := near[k-1].End()
			if off < end || (off-end)*w.size > gap || (off+n-near[0].Offset)*w.size > ReadBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		near = append(near, decomp.Req{Offset: off, Length: n})
	}
	return flush()
}

// Owner returns the subfile of a map's rank, and the blob's number there. In an appended set the subfile may be missing.
func (s *Set) Owner(rank int) (*FilePart, int) {
	i := sort.Search(len(s.Parts), func(i int) bool { return s.Parts[i].First > rank }) - 1
	return s.Parts[i], rank - s.Parts[i].First
}

// fetchAll reads the pieces in the order of the files. Pieces that are close together share a read.
func (r *Elems) fetchAll(ctx context.Context, list []fetch, dst []byte, fm Form) error {
	slices.SortFunc(list, func(a, b fetch) int {
		return cmp.Or(cmp.Compare(a.p.Index, b.p.Index), cmp.Compare(a.off, b.off))
	})
	var cuts []int
	for k := range list {
		if k == 0 || list[k].p != list[k-1].p || list[k].off-(list[k-1].off+list[k-1].n) > gap(list[k].p, fm) ||
			list[k].off+list[k].n-list[cuts[len(cuts)-1]].off > ReadBatch {
			cuts = append(cuts, k)
		}
	}
	return par.Each(ctx, r.Files.Opt.Workers, len(cuts), func(_ context.Context, c int) error {
		end := len(list)
		if c+1 < len(cuts) {
			end = cuts[c+1]
		}
		return fetchRun(list[cuts[c]:end], dst, fm)
	})
}

// gap returns how many bytes may be read and dropped to avoid another read.
func gap(p *FilePart, fm Form) int64 {
	if fm.exact {
		return 0
	}
	return p.Place.Gap()
}

func fetchRun(list []fetch, dst []byte, fm Form) error {
	p := list[0].p
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	swap := func(x *fetch, b []byte) {
		if p.Place.Big != fm.Big {
			elem.Swap(b, b, int(x.w.size))
		}
	}
	if x := &list[0]; len(list) == 1 {
		b := dst[x.to : x.to+x.n]
		if err := layout.ReadFull(f, b, x.off, p.Name, x.w.name); err != nil {
			return err
		}
		x.w.pf.take(p, x.at, b)
		swap(x, b)
		return nil
	}
	start := list[0].off
	end := start
	for _, x := range list {
		end = max(end, x.off+x.n)
	}
	buf := make([]byte, end-start)
	if err := layout.ReadFull(f, buf, start, p.Name, list[0].w.name); err != nil {
		return err
	}
	for i := 0; i < len(list); { // sum bytes at once that are contiguous both in the extent and in the file
		x, last := list[i], list[i].off+list[i].n
		for i++; i < len(list) && list[i].w == x.w && list[i].off-x.off == list[i].at-x.at; i++ {
			last = max(last, list[i].off+list[i].n)
		}
		x.w.pf.take(p, x.at, buf[x.off-start:last-start])
	}
	for i := range list {
		x := &list[i]
		b := dst[x.to : x.to+x.n]
		copy(b, buf[x.off-start:])
		swap(x, b)
	}
	return nil
}

// exactStep is the number of bytes that one step of an exact read compares.
const exactStep = 64 << 10

// exact returns fm with exact set: only the wanted bytes are read, and all of them are compared with their checksums.
func (r *Prover) exact(fm Form) Form {
	fm.exact = true
	switch r.Files.Opt.Verify {
	case VerifyNever:
	case VerifyAlways:
		fm.Known = NewKnown()
	default:
		fm.Known = r.known
	}
	return fm
}

// Exactly reads runs of one record like gather, but in steps, so that it needs little memory.
func (r *Elems) Exactly(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	fm = r.Prover.exact(fm)
	size := int64(r.Data.Schema.Vars[v].Type.Size())
	step := max(1, exactStep/size)
	var some []decomp.Req
	sum := int64(0)
	flush := func() error {
		n := sum * size
		err := r.RawRuns(ctx, v, rec, EachRun(slices.Values(some)), dst[:n], fm)
		dst, some, sum = dst[n:], some[:0], 0
		return err
	}
	for off, n := range runs {
		for n > 0 {
			k := min(n, step-sum)
			some = append(some, decomp.Req{Offset: off, Length: k})
			off, n, sum = off+k, n-k, sum+k
			if sum < step {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if sum == 0 {
		return nil
	}
	return flush()
}

// EachRun yields the non-empty requests as runs.
func EachRun(reqs iter.Seq[decomp.Req]) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		for q := range reqs {
			if q.Length > 0 && !yield(q.Offset, q.Length) {
				return
			}
		}
	}
}
