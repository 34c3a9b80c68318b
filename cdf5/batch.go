package cdf5

// batch converts the runs of one write into a buffer, which is written out
// when it is full or when the next run is elsewhere in the file.
type batch struct {
	w   *Writer
	v   int
	t   Type
	s   *slab
	src any
	raw []byte // memory of src when no conversion but a swap is needed
	pos int64  // elements of src that are done

	buf *[]byte // pieceLen and room for a pad, or less for a small slab
	b   []byte  // the pending bytes, in buf
	at  int64   // their file offset

	conv, convBuf []byte // converted elements of src that no run has taken yet
}

func (b *batch) run(off int64) error {
	s := b.s
	if s.step != s.size {
		// A column: the elements are runs by themselves.
		for i := int64(0); i < s.n; i++ {
			if err := b.part(off+i*s.step, 1); err != nil {
				return err
			}
		}
		return nil
	}
	for left, each := s.n, pieceLen/s.size; left > 0; {
		n := min(left, each)
		if err := b.part(off, n); err != nil {
			return err
		}
		off += n * s.size
		left -= n
	}
	return nil
}

// part adds n contiguous elements, at most a piece, and the pad when they are
// the last of the variable or record.
func (b *batch) part(off, n int64) error {
	size := b.s.size
	if len(b.b) > 0 && (b.at+int64(len(b.b)) != off || int64(len(b.b))+n*size > pieceLen) {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.reserve()
	if len(b.b) == 0 {
		b.at = off
	}
	lo := int64(len(b.b))
	b.b = b.b[:lo+n*size]
	if err := b.encode(b.b[lo:], n); err != nil {
		return err
	}
	if pad := b.w.padAfter(b.v, off+n*size); pad > 0 {
		b.b = b.w.padBytes(b.v, pad, b.b)
	}
	return nil
}

// convLen is the number of elements that are converted at once, however short
// the runs are.
const convLen = 4 << 10

// encode stores the next n elements of src as file bytes.
func (b *batch) encode(dst []byte, n int64) error {
	size := b.s.size
	if b.raw != nil {
		put(dst, b.raw[b.pos*size:(b.pos+n)*size], int(size), true)
		b.pos += n
		return nil
	}
	for len(dst) > 0 {
		if len(b.conv) == 0 {
			if err := b.convert(); err != nil {
				return err
			}
		}
		k := copy(dst, b.conv)
		dst, b.conv = dst[k:], b.conv[k:]
	}
	return nil
}

// convert turns the next convLen elements of src into file bytes.
func (b *batch) convert() error {
	k := min(convLen, b.s.elems-b.pos)
	if b.convBuf == nil {
		b.convBuf = make([]byte, k*b.s.size)
	}
	b.conv = b.convBuf[:k*b.s.size]
	err := ToFile(b.conv, true, b.t, slicePart(b.src, int(b.pos), int(b.pos+k)))
	if re, ok := err.(*RangeError); ok {
		re.Index += b.pos
	}
	b.pos += k
	return err
}

func (b *batch) flush() error {
	if len(b.b) == 0 {
		return nil
	}
	err := b.w.writeAt(b.b, b.at)
	b.b = b.b[:0]
	return err
}

func (b *batch) reserve() {
	if b.b != nil {
		return
	}
	// A pad may follow each run of a small slab.
	if n := b.s.elems*b.s.size + padRoom; len(b.s.outer) == 0 && b.s.step == b.s.size && n < pieceLen/4 {
		b.b = make([]byte, 0, n)
		return
	}
	b.buf = getPiece(&b.w.pool)
	b.b = (*b.buf)[:0]
}

func (b *batch) release() {
	if b.buf != nil {
		b.w.pool.Put(b.buf)
		b.buf = nil
	}
}
