package cdf5

// window gathers the runs of a read that are near each other in the file,
// reads them at once, and converts them at once. Memory elements come in the
// order of the runs, so their position is a running count.
type window struct {
	r   *Reader
	v   int
	t   Type
	s   *slab
	dst any
	raw []byte // memory of dst when no conversion but a swap is needed
	pos int64  // elements of dst that are done

	segs       []segment
	start, end int64 // file bytes that segs span
	elems      int64 // elements in segs
	buf        *[]byte
}

// segment is a part of a run: n elements from file offset off.
type segment struct{ off, n int64 }

// maxSegments bounds the list, 64 KiB.
const maxSegments = 4 << 10

// run takes one run of the slab, in parts that fit the buffer.
func (w *window) run(off int64) error {
	s := w.s
	each := int64(1) // elements of a part
	if s.n > 1 && s.step-s.size <= maxGap {
		each = (pieceLen-s.size)/s.step + 1
	}
	contiguous := s.step == s.size
	for left := s.n; left > 0; {
		n := min(left, each)
		if contiguous && w.raw != nil && n*s.size >= directLen {
			if err := w.flush(); err != nil {
				return err
			}
			if err := w.direct(off, n); err != nil {
				return err
			}
		} else if err := w.add(segment{off, n}); err != nil {
			return err
		}
		off += n * s.step
		left -= n
	}
	return nil
}

// direct reads a part into the memory of dst and swaps it there.
func (w *window) direct(off, n int64) error {
	b := w.raw[w.pos*w.s.size : (w.pos+n)*w.s.size]
	if err := w.r.readAt(w.v, b, off); err != nil {
		return err
	}
	if !hostBig {
		Swap(b, b, int(w.s.size))
	}
	w.pos += n
	return nil
}

func (w *window) add(g segment) error {
	end := g.off + (g.n-1)*w.s.step + w.s.size
	if len(w.segs) > 0 && (g.off-w.end > maxGap || end-w.start > pieceLen || len(w.segs) == maxSegments) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.segs) == 0 {
		w.start = g.off
	}
	w.segs = append(w.segs, g)
	w.end = end
	w.elems += g.n
	return nil
}

// flush reads the window and hands its elements to dst.
func (w *window) flush() error {
	if len(w.segs) == 0 {
		return nil
	}
	b := w.buffer(w.end - w.start)
	if err := w.r.readAt(w.v, b, w.start); err != nil {
		return err
	}
	b = b[:w.compact(b)]
	lo, hi := w.pos, w.pos+w.elems
	w.pos, w.elems, w.segs = hi, 0, w.segs[:0]
	if w.raw != nil {
		put(w.raw[lo*w.s.size:hi*w.s.size], b, int(w.s.size), true)
		return nil
	}
	err := FromFile(slicePart(w.dst, int(lo), int(hi)), b, true, w.t)
	if re, ok := err.(*RangeError); ok {
		re.Index += lo
	}
	return err
}

// compact moves the elements of the segments to the front of b, one after
// the other, and returns their length in bytes. They only ever move down.
func (w *window) compact(b []byte) int64 {
	at, size, step := int64(0), w.s.size, w.s.step
	for _, g := range w.segs {
		from := g.off - w.start
		if step == size || g.n == 1 {
			at += int64(copy(b[at:], b[from:from+g.n*size]))
			continue
		}
		pick(b[at:], b[from:], g.n, step, size)
		at += g.n * size
	}
	return at
}

// pick copies n elements that are step bytes apart. dst may be the same
// memory as src, or memory before it.
func pick(dst, src []byte, n, step, size int64) {
	switch size {
	case 1:
		for i := int64(0); i < n; i++ {
			dst[i] = src[i*step]
		}
	case 4:
		for i := int64(0); i < n; i++ {
			*(*[4]byte)(dst[i*4:]) = *(*[4]byte)(src[i*step:])
		}
	case 8:
		for i := int64(0); i < n; i++ {
			*(*[8]byte)(dst[i*8:]) = *(*[8]byte)(src[i*step:])
		}
	default:
		for i := int64(0); i < n; i++ {
			copy(dst[i*size:(i+1)*size], src[i*step:])
		}
	}
}

// buffer returns n bytes, n <= pieceLen. Only whole pieces are kept for later.
func (w *window) buffer(n int64) []byte {
	if w.buf != nil {
		return (*w.buf)[:n]
	}
	if w.s.span() < pieceLen/4 {
		return make([]byte, n)
	}
	w.buf = getPiece(&w.r.pool)
	return (*w.buf)[:n]
}

func (w *window) release() {
	if w.buf != nil {
		w.r.pool.Put(w.buf)
		w.buf = nil
	}
}
