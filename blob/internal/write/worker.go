package write

import (
	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/process"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"context"
	"hash/crc32"
	"iter"
)

const (
	// directMin is the minimum size in bytes of a piece that is written directly from the caller's memory. For smaller pieces a
	// copy into the buffer is cheaper.
	directMin = 32 << 10
	maxVector = 512 // maximum number of pieces of one vectored write
)

// Some processors copy at half their rate if, within a page, the target begins a few bytes behind the source. Headers can have
// any length, so this can happen for a whole file. Therefore data for file offset off are put half a page away from off within a
// page of the buffer.
const page = process.SkewRoom

func skew(off int64) int64 { return (off + page/2) % page }

// task is a range of the pieces: refs[from:to]. It leaves out the first skip bytes of the first piece, and has only the first
// last bytes of the last piece.
type task struct {
	from, to   int
	skip, last int64
}

// cut makes the tasks. A piece may be cut at any multiple of 8 bytes from its start.
func (q *queue) cut() {
	size := q.size &^ 7
	t := task{}
	room := size
	q.bytes = 0
	for k, r := range q.refs {
		_, n, _ := q.e.Layout.spot(int(r.i), q.pend(r))
		q.bytes += n + 8 // 8 for padding
		done := int64(0)
		for n-done > room {
			done += room &^ 7
			if done > 0 || k > t.from {
				t.to, t.last = k+1, done
				if done == 0 {
					t.to, t.last = k, -1
				}
				q.tasks = append(q.tasks, t)
			}
			t = task{from: k, skip: done}
			room = size
		}
		room -= n - done
	}
	if t.from < len(q.refs) {
		t.to, t.last = len(q.refs), -1
		q.tasks = append(q.tasks, t)
	}
}

// run writes all pieces. The first error stops it.
func (q *queue) run(ctx context.Context) error {
	if len(q.tasks) == 0 {
		return nil
	}
	f, done, err := q.e.File.Open()
	if err != nil {
		return err
	}
	defer done()
	return par.Crew(ctx, q.e.opt.Workers, len(q.tasks), func(ctx context.Context, tasks iter.Seq[int]) error {
		w := worker{q: q, f: f, buf: q.e.Proc.Buffer(min(q.size, q.bytes))}
		defer func() { q.e.Proc.GiveBack(w.buf) }()
		for k := range tasks {
			if err := w.do(q.tasks[k]); err != nil {
				return err
			}
		}
		return nil
	})
}

// worker runs tasks with one buffer.
type worker struct {
	q   *queue
	f   vfs.File
	buf []byte

	used   int
	off    int64
	end    int64    // end of this write in the file
	last   *Pend    // the piece that was added last
	lastAt int64    // where last ends in its extent
	vec    [][]byte // parts of the write, which are slices of buf and of callers' memory

	ext int64 // extent of the bytes whose checksum is being computed
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

// piece adds bytes [from, to) of a piece to the write at file offset off.
func (w *worker) piece(i int, p *Pend, off, at, from, to int64) error {
	n := to - from
	direct := w.direct(p, n)
	gap := off - w.end
	room := len(w.buf) - w.used
	if len(w.vec) > 0 && (gap < 0 || gap > 0 && !w.isPadding(off) || len(w.vec) >= maxVector || !direct && int64(room) < n+gap || int64(room) < gap) {
		w.endSum() // compute checksums while the bytes are still in the buffer
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

// isPadding reports whether the bytes between the last piece and off are CDF padding up to the next multiple of 4, which is
// written as zeros. Otherwise another process may have written data there.
func (w *worker) isPadding(off int64) bool {
	pl := w.q.e.Layout.Place
	v := pl.Header.HeaderVar(w.last.V)
	return off == (w.end+3)&^3 && pl.Pad(v) > 0 && w.lastAt == pl.ExtentBytes(v, nil)
}

// direct reports whether the caller's memory has the bytes of the file.
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
		w.vec[k-1] = w.vec[k-1][:len(w.vec[k-1])+int(n)] // this part is contiguous with the previous one in the buffer
		return b
	}
	w.vec = append(w.vec, b)
	return b
}

// addSum adds bytes of an extent to the checksums. Bytes that directly follow the previous bytes in the same piece extend the
// running checksum.
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
