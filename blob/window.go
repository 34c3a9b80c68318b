package blob

import (
	"context"
	"fmt"
	"sort"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/par"
)

const (
	readBatch = 4 << 20   // bytes read at once
	sumStep   = 256 << 10 // bytes that are summed at a time, so that they are still in the cache when they are used
)

// form says how elements are wanted.
type form struct {
	big  bool // byte order
	zero bool // what no blob covers becomes zeros, not fill values

	known *known // not nil: every piece is compared with its checksum, but for those that are known
	later *late  // not nil: those that are read in part are compared when it is settled
}

var hostForm = form{big: hostBig}

func (fm form) fill(dst []byte, v *Variable) {
	if fm.zero {
		clear(dst)
		return
	}
	cdf5.FillBytes(dst, v.Type, orderOf(fm.big), v.fillAtt())
}

// setOf returns the set that holds a record and the record's number in it. A
// fixed variable is in the first set.
func (r *Reader) setOf(v VarID, rec int64) (*set, int64) {
	if !r.schema.vars[v].Record {
		return r.sets[0], 0
	}
	i := sort.Search(len(r.sets), func(i int) bool { return r.sets[i].first+r.sets[i].records > rec })
	return r.sets[i], rec - r.sets[i].first
}

// raw reads elements [lo, hi) of one record of a variable in canonical order,
// in the type of the file and the form asked for. dst is (hi-lo) elements long.
func (r *Reader) raw(ctx context.Context, v VarID, rec, lo, hi int64, dst []byte, fm form) error {
	s, srec := r.setOf(v, rec)
	if err := r.loadSet(ctx, s); err != nil {
		return err
	}
	sv := &r.schema.vars[v]
	id, err := s.variable(v, sv)
	if err != nil {
		return err
	}
	if sv.Decomp != 0 {
		return r.scatter(ctx, s, id, sv, srec, lo, hi, dst, fm)
	}
	pf := r.proof(s, id, srec, int64(len(dst)), fm)
	if err := r.flat(ctx, s, id, sv, rec, srec, lo, dst, fm, pf); err != nil {
		return err
	}
	return pf.judge(ctx)
}

// flat is raw for a variable that is not decomposed; srec is the record of the set.
func (r *Reader) flat(ctx context.Context, s *set, id VarID, sv *Variable, rec, srec, lo int64, dst []byte, fm form, pf *proof) error {
	size := int64(sv.Type.Size())
	p := s.firstPart() // every subfile has a copy
	if p == nil {
		fm.fill(dst, sv)
		return nil
	}
	off, _ := p.place.piece(id, srec, p.table, 0)
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	for at := int64(0); at < int64(len(dst)); at += readBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := dst[at:min(at+readBatch, int64(len(dst)))]
		if end := p.place.FileLen - off - lo*size - at; p.place.Plain && end < int64(len(b)) {
			if last, stop := p.place.LastPiece(r.records); off == last && p.place.MayLack(stop-p.place.FileLen) {
				clear(b[max(end, 0):]) // never written, see lastPiece
			} else if r.opt.AllowMissing {
				fm.fill(b[max(end, 0):], sv)
			} else {
				end = int64(len(b))
			}
			if b = b[:max(end, 0)]; len(b) == 0 {
				continue
			}
		}
		if err := layout.ReadFull(f, b, off+lo*size+at, p.name, fmt.Sprintf("variable %q record %d", sv.Name, rec)); err != nil {
			return err
		}
		pf.take(p, lo*size+at, b)
		if p.place.Big != fm.big {
			cdf5.Swap(b, b, int(size))
		}
	}
	return nil
}

// variable returns the id that variable v of the dataset has in this set.
func (s *set) variable(v VarID, sv *Variable) (VarID, error) {
	id := s.vars[v]
	if id < 0 {
		return id, pkg.At(s.parts[0].wanted(), -1, fmt.Sprintf("variable %q", sv.Name), ErrMissing, "not in this set of subfiles")
	}
	return id, nil
}

// incomplete says whether a subfile of this set is missing. The map, which is
// that of the first set, does not tell if it is one of an appended set.
func (s *set) incomplete() bool {
	for _, p := range s.parts {
		if p.place == nil {
			return true
		}
	}
	return false
}

// firstPart returns the first subfile that is there, nil if all are missing.
func (s *set) firstPart() *filePart {
	for _, p := range s.parts {
		if p.place != nil {
			return p
		}
	}
	return nil
}

// span is what is read of one blob: elements [from, to) of blob j of a part.
type span struct {
	p        *filePart
	j        int
	from, to int64
}

// scatter fills dst from the blobs that touch [lo, hi): the blobs are read in
// the order of the file, several at a time where they lie together, and each
// one's runs are copied to their places.
func (r *Reader) scatter(ctx context.Context, s *set, id VarID, sv *Variable, rec, lo, hi int64, dst []byte, fm form) error {
	m, err := r.Map(ctx, sv.Decomp)
	if err != nil {
		return err
	}
	cov, err := r.Coverage(ctx, sv.Decomp)
	if err != nil {
		return err
	}
	if cov.Uncovered > 0 || s.incomplete() {
		fm.fill(dst, sv)
	}
	size := int64(sv.Type.Size())
	pf := r.proof(s, id, rec, int64(len(dst)), fm)
	batches := r.batches(s, m, id, rec, lo, hi, size)
	workers := r.opt.Workers
	if cov.Overlapped > 0 {
		workers = 1 // the highest rank wins, so ranks must come in order
	}
	workers = int(max(1, min(int64(workers), r.opt.Memory/readBatch)))
	errs := make([]error, len(batches))
	workers = max(1, min(workers, len(batches)))
	par.Do(workers, len(batches), func(k int) {
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		buf := r.buffer()
		defer r.giveBack(buf)
		errs[k] = r.scatterBatch(m, id, sv, rec, batches[k], dst, lo, fm, buf, pf)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return pf.judge(ctx)
}

// batches lists the spans that [lo, hi) touches, grouped into reads.
func (r *Reader) batches(s *set, m *decomp.Map, id VarID, rec, lo, hi, size int64) [][]span {
	var out [][]span
	var cur []span
	var start, end int64
	whole := lo == 0 && hi == m.Elems()
	for _, p := range s.parts {
		if p.place == nil {
			continue
		}
		for j := range p.place.Shape.Blobs {
			from, to := int64(0), m.Count(p.first+j)
			if !whole {
				from, to = posRange(m, p.first+j, lo, hi)
			}
			for from < to {
				sp := span{p, j, from, min(to, from+readBatch/size)}
				off, _ := p.place.piece(id, rec, p.table, j)
				a, b := off+sp.from*size, off+sp.to*size
				if len(cur) > 0 && (cur[0].p != p || a < end || a-end > p.place.Gap() || b-start > readBatch) {
					out, cur = append(out, cur), nil
				}
				if len(cur) == 0 {
					start = a
				}
				cur, end = append(cur, sp), b
				from = sp.to
			}
		}
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return out
}

// posRange returns the smallest range of a rank's blob that holds all its elements of [lo, hi).
func posRange(m *decomp.Map, rank int, lo, hi int64) (from, to int64) {
	a, b := m.Bounds(rank)
	if b <= lo || a >= hi {
		return 0, 0
	}
	if lo <= a && b <= hi {
		return 0, m.Count(rank)
	}
	first := true
	for c := range m.Clip(rank, lo, hi) {
		if first {
			from, to, first = c.Pos, c.Pos+c.Len, false
			continue
		}
		from, to = min(from, c.Pos), max(to, c.Pos+c.Len)
	}
	return from, to
}

func (r *Reader) scatterBatch(m *decomp.Map, id VarID, sv *Variable, rec int64, spans []span, dst []byte, lo int64, fm form, buf *[]byte, pf *proof) error {
	size := int64(sv.Type.Size())
	p := spans[0].p
	at := func(sp span, pos int64) int64 {
		off, _ := p.place.piece(id, rec, p.table, sp.j)
		return off + pos*size
	}
	last := spans[len(spans)-1]
	start, end := at(spans[0], spans[0].from), at(last, last.to)
	if int64(cap(*buf)) < end-start {
		*buf = make([]byte, max(min(readBatch, 2*int64(cap(*buf))), end-start)) // small reads take little
	}
	b := (*buf)[:end-start]
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if err := layout.ReadFull(f, b, start, p.name, fmt.Sprintf("variable %q", sv.Name)); err != nil {
		return err
	}
	for len(spans) > 0 { // what lies in the extent as it does in the file, in the cache from summing to scattering
		n, off, pos := 1, at(spans[0], spans[0].from), int64(0)
		if pf != nil {
			pos = p.posOf(id, spans[0])
		}
		stop := at(spans[0], spans[0].to)
		for ; pf != nil && n < len(spans); n++ {
			next := at(spans[n], spans[n].from)
			if next-off != p.posOf(id, spans[n])-pos {
				break
			}
			if next-off > sumStep {
				stop = next // what lies between is in no other part
				break
			}
			stop = at(spans[n], spans[n].to)
		}
		pf.take(p, pos, b[off-start:stop-start])
		for _, sp := range spans[:n] {
			a := at(sp, sp.from) - start
			src := b[a : a+(sp.to-sp.from)*size]
			if p.place.Big != fm.big {
				cdf5.Swap(src, src, int(size))
			}
			m.Scatter(dst, lo, src, sp.from, p.first+sp.j, int(size))
		}
		spans = spans[n:]
	}
	return nil
}

// posOf is where the bytes of a span begin in the extent of the variable's record.
func (p *filePart) posOf(id VarID, sp span) int64 {
	_, _, at := p.place.Spot(p.table, sp.j, int32(id), 0)
	return at + sp.from*int64(p.place.schema.vars[id].Type.Size())
}

// buffer returns memory to read into, that of an earlier read if there is any.
func (r *Reader) buffer() *[]byte {
	if b, ok := r.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (r *Reader) giveBack(b *[]byte) { r.buffers.Put(b) }
