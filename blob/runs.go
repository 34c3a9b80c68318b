package blob

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
)

// fetch is one piece to be read: n bytes at off of a part go to dst[to:].
type fetch struct {
	p       *filePart
	off, to int64
	n       int64
	at      int64 // of the piece in its extent
	v       *fetched
}

// fetched is the record of a variable that pieces are of.
type fetched struct {
	size int    // of an element
	name string // in errors
	pf   *proof
}

// fetchChunk is how many pieces are looked up before they are read.
const fetchChunk = 1 << 18

// rawRuns reads scattered runs of canonical elements of one record, one after
// the other into dst. The index of the map tells who has them, so the cost
// follows from what is asked for, not from the size of the variable.
func (r *Reader) rawRuns(ctx context.Context, v VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm form) error {
	s, srec := r.setOf(v, rec)
	if err := r.loadParts(ctx, s); err != nil {
		return err
	}
	sv := &r.schema.vars[v]
	size := int64(sv.Type.Size())
	id, err := s.variable(v, sv)
	if err != nil {
		return err
	}
	if id < 0 {
		fm.fill(dst, sv)
		return nil
	}
	pf := r.proof(s, id, srec, int64(len(dst)), fm)
	to := int64(0)
	if sv.Decomp == 0 {
		if p := s.firstPart(); p == nil { // every subfile has a copy
			fm.fill(dst, sv)
		} else if err := r.flatRuns(ctx, p, id, sv, rec, srec, runs, dst, fm, pf); err != nil {
			return err
		}
		return pf.judge(ctx)
	}
	lo, hi := int64(math.MaxInt64), int64(0)
	for off, n := range runs {
		lo, hi = min(lo, off), max(hi, off+n)
	}
	g, err := r.partOf(ctx, s, sv.Decomp, lo, hi)
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
	if cov.Uncovered > 0 || s.incomplete() {
		fm.fill(dst, sv)
	}
	list, of := make([]fetch, 0, 1024), &fetched{sv.Type.Size(), fmt.Sprintf("variable %q", sv.Name), pf}
	for off, n := range runs {
		if err := g.lostIn(s, off, off+n); err != nil {
			return err
		}
		for o := range ix.Range(off, off+n) {
			p, j := s.owner(o.Rank)
			if p.place == nil {
				continue
			}
			a, _, at := p.place.Spot(p.table, j, int32(id), srec)
			list = append(list, fetch{p, a + o.Pos*size, to + (o.Off-off)*size, o.Len * size, at + o.Pos*size, of})
		}
		to += n * size
		if len(list) >= fetchChunk {
			if err := r.fetchAll(ctx, list, dst, fm); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	if err := r.fetchAll(ctx, list, dst, fm); err != nil {
		return err
	}
	return pf.judge(ctx)
}

// flatRuns reads runs of a variable that is not decomposed from a part: those that are near each other, as they ascend, at once.
func (r *Reader) flatRuns(ctx context.Context, p *filePart, id VarID, sv *Variable, rec, srec int64, runs iter.Seq2[int64, int64], dst []byte, fm form, pf *proof) error {
	size, gap := int64(sv.Type.Size()), int64(0)
	if !fm.exact {
		gap = p.place.Gap()
	}
	var near []decomp.Req
	var buf []byte
	flush := func() error {
		if len(near) == 0 {
			return nil
		}
		first, last := near[0], near[len(near)-1]
		lo, n := first.Offset, (last.Offset+last.Length-first.Offset)*size
		if len(near) == 1 {
			err := r.flat(ctx, p, id, sv, rec, srec, lo, dst[:n], fm, pf)
			dst, near = dst[n:], near[:0]
			return err
		}
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		if err := r.flat(ctx, p, id, sv, rec, srec, lo, buf[:n], fm, pf); err != nil {
			return err
		}
		for _, q := range near {
			dst = dst[copy(dst, buf[(q.Offset-lo)*size:(q.Offset-lo+q.Length)*size]):]
		}
		near = near[:0]
		return nil
	}
	for off, n := range runs {
		if k := len(near); k > 0 {
			end := near[k-1].Offset + near[k-1].Length
			if off < end || (off-end)*size > gap || (off+n-near[0].Offset)*size > readBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		near = append(near, decomp.Req{Offset: off, Length: n})
	}
	return flush()
}

// owner returns the part and the blob in it of a rank of the map. The part may
// be missing in an appended set.
func (s *set) owner(rank int) (*filePart, int) {
	i := sort.Search(len(s.parts), func(i int) bool { return s.parts[i].first > rank }) - 1
	return s.parts[i], rank - s.parts[i].first
}

// fetchAll reads the pieces in the order of the files, near ones together.
func (r *Reader) fetchAll(ctx context.Context, list []fetch, dst []byte, fm form) error {
	slices.SortFunc(list, func(a, b fetch) int {
		return cmp.Or(cmp.Compare(a.p.index, b.p.index), cmp.Compare(a.off, b.off))
	})
	var cuts []int
	for k := range list {
		if k == 0 || list[k].p != list[k-1].p || list[k].off-(list[k-1].off+list[k-1].n) > gap(list[k].p, fm) ||
			list[k].off+list[k].n-list[cuts[len(cuts)-1]].off > readBatch {
			cuts = append(cuts, k)
		}
	}
	errs := make([]error, len(cuts))
	r.parallel(len(cuts), func(c int) {
		if errs[c] = ctx.Err(); errs[c] != nil {
			return
		}
		end := len(list)
		if c+1 < len(cuts) {
			end = cuts[c+1]
		}
		errs[c] = fetchRun(list[cuts[c]:end], dst, fm)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// gap is how many bytes are read and dropped rather than starting a new read.
func gap(p *filePart, fm form) int64 {
	if fm.exact {
		return 0
	}
	return p.place.Gap()
}

func fetchRun(list []fetch, dst []byte, fm form) error {
	p := list[0].p
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if len(list) == 1 {
		b := dst[list[0].to : list[0].to+list[0].n]
		if err := layout.ReadFull(f, b, list[0].off, p.name, list[0].v.name); err != nil {
			return err
		}
		list[0].v.pf.take(p, list[0].at, b)
		if p.place.Big != fm.big {
			cdf5.Swap(b, b, list[0].v.size)
		}
		return nil
	}
	start := list[0].off
	end := start
	for _, x := range list {
		end = max(end, x.off+x.n)
	}
	buf := make([]byte, end-start)
	if err := layout.ReadFull(f, buf, start, p.name, list[0].v.name); err != nil {
		return err
	}
	for i := 0; i < len(list); { // what lies in the extent as it does in the file is summed at once
		x, last := list[i], list[i].off+list[i].n
		for i++; i < len(list) && list[i].v == x.v && list[i].off-x.off == list[i].at-x.at; i++ {
			last = max(last, list[i].off+list[i].n)
		}
		x.v.pf.take(p, x.at, buf[x.off-start:last-start])
	}
	for _, x := range list {
		b := dst[x.to : x.to+x.n]
		copy(b, buf[x.off-start:])
		if p.place.Big != fm.big {
			cdf5.Swap(b, b, x.v.size)
		}
	}
	return nil
}
