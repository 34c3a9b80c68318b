package blob

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/par"
)

// span is what is read of one blob: elements [from, to) of blob j of a part.
type span struct {
	w        *want
	p        *filePart
	j        int
	from, to int64
	off      int64 // in the file
}

func (s *span) end() int64 { return s.off + (s.to-s.from)*s.w.size }

// scatter fills the wants of one set from the blobs that touch them: the blobs are read in
// the order of the file, several at a time where they lie together, and each
// one's runs are copied to their places.
func (r *Reader) scatter(ctx context.Context, s *set, wants []*want) error {
	workers := int(max(1, min(int64(r.opt.Workers), r.opt.Memory/readBatch)))
	for _, w := range wants {
		g, err := r.mapOf(ctx, w.sv.Decomp)
		if err != nil {
			return err
		}
		cov, err := g.cover()
		if err != nil {
			return err
		}
		if err := g.lostIn(s, w.lo, w.hi); err != nil {
			return err
		}
		w.m = g.m
		if cov.Uncovered > 0 || s.incomplete() {
			w.fm.fill(w.dst, w.sv)
		}
		if cov.Overlapped > 0 {
			workers = 1 // the highest rank wins, so ranks must come in order
		}
	}
	slices.SortStableFunc(wants, func(a, b *want) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.srec, b.srec), cmp.Compare(a.lo, b.lo))
	})
	c := &spanCursor{s: s, wants: wants}
	par.Do(workers, workers, func(int) {
		var list []span
		buf := r.buffer()
		defer r.giveBack(buf)
		for {
			k, batch := c.next(list[:0])
			if len(batch) == 0 {
				return
			}
			list = batch
			err := ctx.Err()
			if err == nil {
				err = r.scatterBatch(batch, buf)
			}
			if err != nil {
				c.fail(k, err)
				return
			}
		}
	})
	return c.err
}

// spanCursor walks over all spans of the wants of a set in the order of the files, for several workers. It lists one read at a time: a
// dataset of many ranks has more spans than there is memory for.
type spanCursor struct {
	s     *set
	wants []*want // by variable and record

	mu    sync.Mutex
	part  int
	j     int // blob of the part
	w     int // want
	at    int64
	to    int64 // elements [at, to) of the blob are still to be read of this want; 0: not known
	known bool
	taken int // batches
	badAt int
	err   error
}

// maxSpans is how many blobs, or parts of them, are read at once.
const maxSpans = 1 << 13

// next appends the spans of the next read to list, none if there are no more, and returns its number.
func (c *spanCursor) next(list []span) (int, []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, list[:0]
	}
	for len(list) < maxSpans {
		sp, ok := c.peek()
		if !ok {
			break
		}
		if len(list) > 0 {
			first, end := &list[0], list[len(list)-1].end()
			if first.p != sp.p || sp.off < end || sp.off-end > sp.p.place.Gap() || sp.end()-first.off > readBatch {
				break
			}
		}
		list = append(list, sp)
		if c.at = sp.to; c.at >= c.to {
			c.step()
		}
	}
	c.taken++
	return c.taken, list
}

// fail keeps the error of the first read that failed.
func (c *spanCursor) fail(k int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil || k < c.badAt {
		c.err, c.badAt = err, k
	}
}

// peek returns the span that is next.
func (c *spanCursor) peek() (span, bool) {
	for c.part < len(c.s.parts) && c.w < len(c.wants) {
		p, w := c.s.parts[c.part], c.wants[c.w]
		if p.place == nil {
			c.step()
			continue
		}
		if !c.known {
			c.at, c.to, c.known = 0, w.m.Count(p.first+c.j), true
			if w.lo != 0 || w.hi != w.m.Elems() {
				c.at, c.to = w.m.Positions(p.first+c.j, w.lo, w.hi)
			}
		}
		if c.at >= c.to {
			c.step()
			continue
		}
		off, _ := p.place.piece(w.id, w.srec, p.table, c.j)
		return span{w, p, c.j, c.at, min(c.to, c.at+readBatch/w.size), off + c.at*w.size}, true
	}
	return span{}, false
}

// step goes on to the next want of a blob, or to the next blob of a want: what follows in the file.
func (c *spanCursor) step() {
	c.known = false
	p := c.s.parts[c.part]
	blobs := 0
	if p.place != nil {
		blobs = p.place.Shape.Blobs
	}
	if p.place != nil && p.place.ByRank {
		if c.w++; c.w < len(c.wants) {
			return
		}
		c.w = 0
		if c.j++; c.j < blobs {
			return
		}
		c.j = 0
		c.part++
		return
	}
	if c.j++; c.j < blobs {
		return
	}
	c.j = 0
	if c.w++; c.w < len(c.wants) {
		return
	}
	c.w = 0
	c.part++
}

// scatterBatch reads what lies together in one file, and copies it to its places.
func (r *Reader) scatterBatch(spans []span, buf *[]byte) error {
	p := spans[0].p
	start, end := spans[0].off, spans[len(spans)-1].end()
	if int64(cap(*buf)) < end-start {
		*buf = make([]byte, max(min(readBatch, 2*int64(cap(*buf))), end-start)) // small reads take little
	}
	b := (*buf)[:end-start]
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if err := layout.ReadFull(f, b, start, p.name, spans[0].w.name); err != nil {
		return err
	}
	for len(spans) > 0 { // what lies in the extent as it does in the file, in the cache from summing to scattering
		first, n, pos := &spans[0], 1, int64(0)
		pf := first.w.pf
		if pf != nil {
			pos = p.posOf(first)
		}
		stop := first.end()
		for ; pf != nil && n < len(spans) && spans[n].w == first.w; n++ {
			next := &spans[n]
			if next.off-first.off != p.posOf(next)-pos {
				break
			}
			if next.off-first.off > sumStep {
				stop = next.off // what lies between is in no other part
				break
			}
			stop = next.end()
		}
		pf.take(p, pos, b[first.off-start:stop-start])
		for i := range spans[:n] {
			sp := &spans[i]
			src := b[sp.off-start : sp.end()-start]
			if p.place.Big != sp.w.fm.big {
				cdf5.Swap(src, src, int(sp.w.size))
			}
			sp.w.m.Scatter(sp.w.dst, sp.w.lo, src, sp.from, p.first+sp.j, int(sp.w.size))
		}
		spans = spans[n:]
	}
	return nil
}

// posOf is where the bytes of a span begin in the extent of the variable's record.
func (p *filePart) posOf(sp *span) int64 {
	_, _, at := p.place.Spot(p.table, sp.j, int32(sp.w.id), 0)
	return at + sp.from*sp.w.size
}
