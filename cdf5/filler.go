package cdf5

// note adds a run that is about to be written to the cover. w.mu is held.
func (w *Writer) note(v int, off int64, s *slab) error {
	if s.step == s.size {
		return w.noteRange(v, off, s.n)
	}
	for i := int64(0); i < s.n; i++ {
		if err := w.noteRange(v, off+i*s.step, 1); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) noteRange(v int, off, n int64) error {
	p := &w.places.vars[v]
	at, rec := off-p.begin, int64(0)
	if p.stride > 0 {
		rec, at = at/p.stride, at%p.stride
	}
	size := int64(w.h.Vars[v].Type.Size())
	lo := rec*(p.bytes/size) + at/size
	w.cover.add(v, lo, lo+n)
	if w.cover.full(v) {
		return w.closeGaps(v)
	}
	return nil
}

// closeGaps fills between the ranges of a variable, which become one. What is
// noted may not be written yet, but fills only go to what is not noted.
func (w *Writer) closeGaps(v int) error {
	list := w.cover.vars[v]
	lo, hi := list[0].lo, list[len(list)-1].hi
	f := w.newFiller()
	defer f.release()
	if err := w.cover.gaps(v, lo, hi, func(lo, hi int64) error { return f.elems(v, lo, hi) }); err != nil {
		return err
	}
	if err := f.flush(); err != nil {
		return err
	}
	w.cover.add(v, lo, hi)
	return nil
}

// fillRest fills what is not covered: the fixed variables one by one, then
// the record variables record by record, so that the writes ascend.
func (w *Writer) fillRest() error {
	f := w.newFiller()
	defer f.release()
	var due []int
	for v := range w.h.Vars {
		n := w.h.Elems(v)
		if w.h.IsRecord(v) {
			if !w.covers(v, w.numRecs*n) {
				due = append(due, v)
			}
			continue
		}
		if err := w.cover.gaps(v, 0, n, func(lo, hi int64) error { return f.elems(v, lo, hi) }); err != nil {
			return err
		}
	}
	if len(due) == 0 {
		return f.flush()
	}
	for rec := int64(0); rec < w.numRecs; rec++ {
		for _, v := range due {
			n := w.h.Elems(v)
			if err := w.cover.gaps(v, rec*n, (rec+1)*n, func(lo, hi int64) error { return f.elems(v, lo, hi) }); err != nil {
				return err
			}
		}
	}
	return f.flush()
}

// covers tells whether the first n elements of variable v are written.
func (w *Writer) covers(v int, n int64) bool {
	list := w.cover.vars[v]
	return n == 0 || len(list) == 1 && list[0].lo == 0 && list[0].hi >= n
}

// filler writes fill values; adjacent ones in one write.
type filler struct {
	w   *Writer
	buf *[]byte
	b   []byte
	at  int64
}

func (w *Writer) newFiller() *filler {
	f := &filler{w: w, buf: getPiece(&w.pool)}
	f.b = (*f.buf)[:0]
	return f
}

func (f *filler) release() { f.w.pool.Put(f.buf) }

// elems fills elements [lo, hi) of variable v, which may cover many records.
func (f *filler) elems(v int, lo, hi int64) error {
	size, n := int64(f.w.h.Vars[v].Type.Size()), f.w.h.Elems(v)
	for lo < hi {
		rec := int64(0)
		if f.w.h.IsRecord(v) {
			rec = lo / n
		}
		off, _ := f.w.places.Extent(v, rec)
		k := min(hi, (rec+1)*n) - lo
		off += (lo - rec*n) * size
		if err := f.bytes(v, off, k*size); err != nil {
			return err
		}
		lo += k
	}
	return nil
}

func (f *filler) bytes(v int, off, n int64) error {
	size := int64(f.w.h.Vars[v].Type.Size())
	n += f.w.padAfter(v, off+n)
	f.w.end = max(f.w.end, off+n)
	for n > 0 {
		room := (pieceLen - int64(len(f.b))) / size * size
		if len(f.b) > 0 && (f.at+int64(len(f.b)) != off || room == 0) {
			if err := f.flush(); err != nil {
				return err
			}
			room = pieceLen
		}
		if len(f.b) == 0 {
			f.at = off
		}
		k := min(n, room)
		lo := int64(len(f.b))
		f.b = f.b[:lo+k]
		FillBytes(f.b[lo:], f.w.h.Vars[v].Type, nil, f.w.h.FillAtt(v))
		off += k
		n -= k
	}
	return nil
}

func (f *filler) flush() error {
	if len(f.b) == 0 {
		return nil
	}
	err := f.w.writeAt(f.b, f.at)
	f.b = f.b[:0]
	return err
}
