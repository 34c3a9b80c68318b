package write

import (
	"hash/crc32"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/base/vfs"
)

const (
	// directMin is the smallest piece, in bytes, that is written straight from
	// the caller's memory; smaller ones are cheaper to copy together.
	directMin = 32 << 10
	maxVector = 512 // pieces of one vectored write
)

// Some processors copy at half their rate where, within pages, the target begins a few bytes behind the source, as it may for a
// whole file, since headers have any length. So what is written at off begins half a page away from it in its buffer, which begins
// with a page.
const (
	page     = 4096
	skewRoom = page // more than any skew
)

func skew(off int64) int64 { return (off + page/2) % page }

// worker carries out tasks with one buffer.
type worker struct {
	q   *queue
	f   vfs.File
	buf []byte

	used   int      // bytes of buf in use
	off    int64    // file offset of the write being gathered
	end    int64    // its end
	last   *Pend    // the last piece
	lastAt int64    // where it ended in its extent
	vec    [][]byte // its parts: slices of buf and of callers' memory

	ext int64 // extent of the bytes being summed
	sum checksum.Seg
}

// do writes one task.
func (w *worker) do(t task) error {
	w.used, w.off, w.end, w.vec, w.ext, w.sum = 0, 0, 0, w.vec[:0], -1, checksum.Seg{}
	for k := t.from; k < t.to; k++ {
		r := w.q.refs[k]
		p := w.q.pend(r)
		off, n, at := w.q.e.Layout.spot(int(r.i), p)
		from, to := int64(0), n
		if k == t.from {
			from = t.skip
		}
		if k == t.to-1 && t.last >= 0 {
			to = t.last
		}
		if from == to {
			continue
		}
		if err := w.piece(int(r.i), p, off+from, at+from, from, to); err != nil {
			return err
		}
	}
	w.endSum()
	return w.flush()
}

// piece adds bytes [from, to) of one piece, which go to file offset off.
func (w *worker) piece(i int, p *Pend, off, at, from, to int64) error {
	n := to - from
	direct := w.direct(p, n)
	gap := off - w.end
	room := len(w.buf) - w.used
	if len(w.vec) > 0 && (gap < 0 || gap > 0 && !w.isPadding(off) || len(w.vec) >= maxVector || !direct && int64(room) < n+gap || int64(room) < gap) {
		w.endSum() // its bytes are still in the buffer
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.vec) == 0 {
		w.off, w.end, gap = off, off, 0
		w.used = int(skew(off))
	}
	if gap > 0 {
		clear(w.take(gap))
	}
	var b []byte
	if direct {
		b = p.Raw[from:to]
		w.vec = append(w.vec, b)
	} else {
		b = w.take(n)
		if err := w.q.e.Layout.fill(b, i, p, from, to); err != nil {
			return err
		}
	}
	w.end, w.last, w.lastAt = off+n, p, at+n
	w.addSum(w.q.e.Layout.extent(p), at, b)
	return nil
}

// isPadding reports whether the bytes between the last piece and off are padding
// of CDF, up to the next multiple of 4 behind an extent, which are written as
// zeros; and not data of somebody else, who may have written them already.
func (w *worker) isPadding(off int64) bool {
	pl := w.q.e.Layout.Place
	v := pl.HeaderVar(w.last.V)
	return off == (w.end+3)&^3 && pl.Pad(v) > 0 && w.lastAt == pl.ExtentBytes(v, nil)
}

// direct reports whether the memory already is what the file holds.
func (w *worker) direct(p *Pend, n int64) bool {
	if p.V < 0 || p.Raw == nil || n < directMin {
		return false
	}
	t := w.q.e.Layout.Schema.Vars[p.V].Type
	return dataset.SameType(p.Mem, t) && (w.q.e.Layout.Place.Big == dataset.HostBig || t.Size() == 1)
}

// take returns the next n bytes of the buffer as part of the write.
func (w *worker) take(n int64) []byte {
	b := w.buf[w.used : w.used+int(n)]
	w.used += int(n)
	if k := len(w.vec); k > 0 && len(w.vec[k-1]) > 0 && w.used-int(n) >= len(w.vec[k-1]) &&
		&w.vec[k-1][0] == &w.buf[w.used-int(n)-len(w.vec[k-1])] {
		w.vec[k-1] = w.vec[k-1][:len(w.vec[k-1])+int(n)] // it follows on in the buffer
		return b
	}
	w.vec = append(w.vec, b)
	return b
}

// fill computes the file bytes [from, to) of a piece, which need not begin and end at elements.
func (l *Layout) fill(b []byte, i int, p *Pend, from, to int64) error {
	size := int64(1)
	switch {
	case p.V >= 0:
		size = int64(l.Schema.Vars[p.V].Type.Size())
	default:
		size = l.mapElem(p.V)
	}
	var one [8]byte
	if k := from % size; k != 0 && from < to {
		if err := l.fillElems(one[:size], i, p, from-k, from-k+size); err != nil {
			return err
		}
		n := int64(copy(b[:min(to-from, size-k)], one[k:size]))
		b, from = b[n:], from+n
	}
	if k := to % size; k != 0 && from < to {
		if err := l.fillElems(one[:size], i, p, to-k, to-k+size); err != nil {
			return err
		}
		copy(b[to-from-k:], one[:k])
		to -= k
	}
	if from == to {
		return nil
	}
	return l.fillElems(b[:to-from], i, p, from, to)
}

// mapElem is the size of an element of a map variable.
func (l *Layout) mapElem(v int32) int64 {
	switch d, m := int(-1-v)/layout.MapVars, int(-1-v)%layout.MapVars; m {
	case layout.MapStart, layout.MapCount:
		return 8
	case layout.MapOffsets:
		return l.Place.OffsetSize(d)
	}
	return 4
}

// fillElems is fill for whole elements.
func (l *Layout) fillElems(b []byte, i int, p *Pend, from, to int64) error {
	if p.V < 0 {
		l.mapBytes(b, i, int(-1-p.V)/layout.MapVars, int(-1-p.V)%layout.MapVars, from)
		return nil
	}
	v := &l.Schema.Vars[p.V]
	if p.Raw == nil {
		cdf5.FillBytes(b, v.Type, dataset.OrderOf(l.Place.Big), v.FillAtt())
		return nil
	}
	size, msize := int64(v.Type.Size()), int64(p.Mem.Size())
	return dataset.ToFile(b, l.Place.Big, v.Type, p.Mem, p.Raw[from/size*msize:to/size*msize])
}

// addSum sums bytes of an extent. Bytes that follow on in the same piece join the running sum.
func (w *worker) addSum(ext, at int64, b []byte) {
	s := w.q.e.Sums.Set
	for len(b) > 0 {
		if ext != w.ext || at != w.sum.At+w.sum.N || s.Border(at) {
			w.endSum()
			w.ext, w.sum = ext, checksum.Seg{At: at}
		}
		n := s.Within(at, int64(len(b)))
		w.sum.CRC = crc32.Update(w.sum.CRC, crc32.IEEETable, b[:n])
		w.sum.N += n
		at, b = at+n, b[n:]
	}
}

func (w *worker) endSum() {
	if w.ext >= 0 {
		w.q.e.Sums.Set.Add(w.ext, w.sum)
	}
	w.ext, w.sum = -1, checksum.Seg{}
}

func (w *worker) flush() error {
	if len(w.vec) == 0 {
		return nil
	}
	var err error
	if len(w.vec) == 1 {
		_, err = w.f.WriteAt(w.vec[0], w.off)
	} else {
		_, err = w.f.WritevAt(w.vec, w.off)
	}
	w.used, w.vec = 0, w.vec[:0]
	return err
}

// mapBytes writes bytes of variable m of map d of local rank i, from byte
// offset from of that rank's part on. b begins and ends at elements. Behind the last request of a
// padded row come zeros.
func (l *Layout) mapBytes(b []byte, i, d, m int, from int64) {
	order := dataset.OrderOf(l.Place.Big)
	k := i*l.Place.NumMaps() + d
	switch m {
	case layout.MapNreqs:
		order.PutUint32(b, uint32(l.Table.Nreqs[k]))
		return
	case layout.MapStart:
		order.PutUint64(b, uint64(l.Table.Start[k]))
		return
	case layout.MapCount:
		order.PutUint64(b, uint64(l.Table.Count[k]))
		return
	}
	size := int64(4)
	if m == layout.MapOffsets {
		size = l.Place.OffsetSize(d)
	}
	skip := from / size
	pos := 0
	for q := range l.Maps[d].Reqs(i) {
		if skip > 0 {
			skip--
			continue
		}
		if pos == len(b) {
			return
		}
		v := q.Length
		if m == layout.MapOffsets {
			v = q.Offset
		}
		dataset.PutInt(b[pos:], order, size, v)
		pos += int(size)
	}
	clear(b[pos:])
}
