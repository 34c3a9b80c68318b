package read

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"blobio/blob/internal/layout"
	"blobio/internal/base/elem"
	"blobio/internal/base/par"
)

// span is one read: elements [from, to) of blob j of a part.
type span struct {
	w        *Want
	p        *FilePart
	j        int
	from, to int64
	off      int64 // offset in the file
	at       int64 // offset in the buffer
	apart    bool  // the span is not contiguous with the previous span
}

func (s *span) end() int64 { return s.off + (s.to-s.from)*s.w.size }

// scatter fills the wants of one set from the blobs that they touch. It reads blobs in the order of the file, contiguous blobs
// with one call, and copies their runs into place. If there is enough memory, each worker reads all its blobs at once, because
// their elements are neighbours in the array.
func (r *Elems) scatter(ctx context.Context, s *Set, wants []*Want) error {
	workers := int(max(1, min(int64(r.Files.Opt.Workers), r.Files.Opt.Memory/ReadBatch)))
	sum := int64(0)
	for _, w := range wants {
		sum += int64(len(w.Dst))
		g, err := r.Maps.of(ctx, s, w.sv.Decomp)
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
		w.m = g.M
		if cov.Uncovered > 0 || s.incomplete() {
			w.Fm.fill(w.Dst, w.sv)
		}
		if cov.Overlapped > 0 {
			workers = 1 // the element of the highest rank counts, so ranks must be copied in order
		}
	}
	slices.SortStableFunc(wants, func(a, b *Want) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.srec, b.srec), cmp.Compare(a.lo, b.lo))
	})
	most := max(ReadBatch, min(sum/int64(workers)+ReadBatch/4, r.Files.Opt.Memory/int64(workers), maxBatch)) // more than sum/workers, because some reads have gaps
	c := &spanCursor{s: s, wants: wants, most: most}
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

// spanCursor lists all spans of the wants of a set in the order of the files, for several workers. It lists only the spans of the
// next read, because the spans of a dataset of many ranks may not fit into memory.
type spanCursor struct {
	s     *Set
	wants []*Want // sorted by variable and record
	most  int64   // maximum bytes of one read

	mu    sync.Mutex
	part  int
	j     int // number of the blob in the part
	w     int // index in wants
	at    int64
	to    int64 // elements [at, to) of the blob remain to be listed for this want; to is 0 if unknown
	known bool
	taken int // number of batches handed out
	badAt int
	err   error
}

// maxSpans limits the spans of one read.
const maxSpans = 1 << 13

// next appends the spans of the next read to list, and returns the number of the batch. At the end it appends nothing.
func (c *spanCursor) next(list []span) (int, []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, list[:0]
	}
	used, begin := int64(0), int64(0) // begin is the file offset of a contiguous run
	for len(list) < maxSpans {
		sp, ok := c.peek()
		if !ok {
			break
		}
		sp.at, sp.apart = used, true
		if len(list) > 0 {
			last := &list[len(list)-1]
			gap := sp.off - last.end()
			if last.p == sp.p && gap >= 0 && gap <= sp.p.Place.Gap() && sp.end()-begin <= ReadBatch {
				sp.at, sp.apart = used+gap, false
			}
		}
		n := sp.end() - sp.off
		if len(list) > 0 && sp.at+n > c.most {
			break
		}
		if used = sp.at + n; sp.apart {
			begin = sp.off
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

// peek returns the next span.
func (c *spanCursor) peek() (span, bool) {
	for c.part < len(c.s.Parts) && c.w < len(c.wants) {
		p, w := c.s.Parts[c.part], c.wants[c.w]
		if p.Place == nil {
			c.step()
			continue
		}
		if !c.known {
			c.at, c.to, c.known = 0, w.m.Count(p.First+c.j), true
			if w.lo != 0 || w.hi != w.m.Elems() {
				c.at, c.to = w.m.Positions(p.First+c.j, w.lo, w.hi)
			}
		}
		if c.at >= c.to {
			c.step()
			continue
		}
		off, _ := p.Place.Piece(w.id, w.srec, p.Table, c.j)
		return span{w: w, p: p, j: c.j, from: c.at, to: min(c.to, c.at+ReadBatch/w.size), off: off + c.at*w.size}, true
	}
	return span{}, false
}

// step moves to the next want of the same blob, or to the next blob, in the order of the file.
func (c *spanCursor) step() {
	c.known = false
	p := c.s.Parts[c.part]
	blobs := 0
	if p.Place != nil {
		blobs = p.Place.Shape.Blobs
	}
	if p.Place != nil && p.Place.ByRank {
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

// scatterBatch reads spans of one or more files and copies their elements into place.
func (r *Elems) scatterBatch(spans []span, buf *[]byte) error {
	last := &spans[len(spans)-1]
	if need := last.at + last.end() - last.off; int64(cap(*buf)) < need {
		*buf = make([]byte, max(min(ReadBatch, 2*int64(cap(*buf))), need)) // small reads use a small buffer
	}
	b := (*buf)[:cap(*buf)]
	for rest := spans; len(rest) > 0; {
		n := 1
		for n < len(rest) && !rest[n].apart {
			n++
		}
		if err := r.readSpans(rest[:n], b); err != nil {
			return err
		}
		rest = rest[n:]
	}
	byWant := func(a, b span) int {
		return cmp.Or(cmp.Compare(a.w.id, b.w.id), cmp.Compare(a.w.srec, b.w.srec), cmp.Compare(a.w.lo, b.w.lo))
	}
	if !slices.IsSortedFunc(spans, byWant) {
		slices.SortStableFunc(spans, byWant)
	}
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].w == spans[0].w {
			n++
		}
		spread(spans[:n], b)
		spans = spans[n:]
	}
	return nil
}

// readSpans reads contiguous spans of a file into the buffer, computes their checksums, and converts them to the wanted byte
// order.
func (r *Elems) readSpans(spans []span, b []byte) error {
	p := spans[0].p
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	start, end := spans[0].off, spans[len(spans)-1].end()
	b = b[spans[0].at:][:end-start]
	if err := layout.ReadFull(f, b, start, p.Name, spans[0].w.name); err != nil {
		return err
	}
	for len(spans) > 0 { // take together bytes that are contiguous both in the extent and in the file; few enough that they stay in the cache until they are swapped
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
				stop = next.off // include the bytes between the spans, which belong to the same part of the extent
				break
			}
			stop = next.end()
		}
		pf.take(p, pos, b[first.off-start:stop-start])
		for i := range spans[:n] {
			sp := &spans[i]
			if p.Place.Big != sp.w.Fm.Big {
				src := b[sp.off-start : sp.end()-start]
				elem.Swap(src, src, int(sp.w.size))
			}
		}
		spans = spans[n:]
	}
	return nil
}

const (
	maxBatch = 16 << 20 // maximum bytes of one read of a worker
	tileSize = 1 << 20  // part of an array that stays in the cache of a core
	tilePart = 16       // minimum mean number of a blob's elements in a tile; with fewer, searching each tile does not pay
)

// spread copies the spans of one want into place. If several blobs have neighbouring elements, it does so tile by tile.
func spread(spans []span, b []byte) {
	w := spans[0].w
	step := w.hi - w.lo
	elems := int64(0)
	for i := range spans {
		elems += spans[i].to - spans[i].from
	}
	row := w.m.Row()
	tile := max(tileSize/w.size/row, 1) * row
	if tiles := (step + tile - 1) / tile; elems/tiles/int64(len(spans)) >= tilePart {
		step = tile
	}
	for lo := w.lo; lo < w.hi; {
		hi := min(lo/step*step+step, w.hi)
		dst := w.Dst[(lo-w.lo)*w.size : (hi-w.lo)*w.size]
		for i := range spans {
			sp := &spans[i]
			w.m.Scatter(dst, lo, b[sp.at:sp.at+sp.end()-sp.off], sp.from, sp.p.First+sp.j, int(w.size))
		}
		lo = hi
	}
}

// posOf returns the offset of a span in the extent.
func (p *FilePart) posOf(sp *span) int64 {
	_, _, at := p.Place.Spot(p.Table, sp.j, int32(sp.w.id), 0)
	return at + sp.from*sp.w.size
}
