package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"context"
	"hash/crc32"
	"iter"
	"math"
	"sync"
)

// packJob is the compression of one flush, in batches of chunks.
type packJob struct {
	q       *queue
	batches []packBatch
	sizes   []int64  // compressed size, by batch
	at      []int64  // offset in data_zblob, by batch
	held    [][]byte // compressed bytes by batch; nil if the batch must be compressed again
	kept    int64    // total bytes in held

	mu   sync.Mutex
	cond sync.Cond
	next int   // number of the next batch that gets an offset
	end  int64 // end in data_zblob of the batches that have offsets
	fail int   // number of the first batch that failed; earlier batches continue
}

// packBatch begins at a chunk of a piece and ends where the next batch begins.
type packBatch struct {
	ref   int
	chunk int64
}

func newPackJob(q *queue) *packJob {
	e := q.e
	j := &packJob{q: q, end: e.Pack.End, fail: math.MaxInt}
	j.cond.L = &j.mu
	limit := max(int64(e.opt.Buffer)-e.Pack.chunk, 0)
	sum := int64(0)
	for k, r := range q.refs {
		_, n, _ := e.Pack.piece(int(r.i), q.pend(r))
		for c := int64(0); n > 0; c++ {
			m := min(n, e.Pack.chunk)
			if len(j.batches) == 0 || sum+m > limit {
				j.batches = append(j.batches, packBatch{k, c})
				sum = 0
			}
			sum += m
			n -= m
		}
	}
	j.sizes, j.at = make([]int64, len(j.batches)), make([]int64, len(j.batches))
	return j
}

// run compresses all batches and passes each to done, from several goroutines.
func (j *packJob) run(ctx context.Context, done func(f vfs.File, k int, b []byte) error) error {
	if len(j.batches) == 0 {
		return nil
	}
	e := j.q.e
	f, giveBack, err := e.File.Open()
	if err != nil {
		return err
	}
	defer giveBack()
	return par.Crew(ctx, e.opt.Workers, len(j.batches), func(ctx context.Context, batches iter.Seq[int]) error {
		buf := e.Proc.Buffer(int64(e.opt.Buffer))
		defer func() { e.Proc.GiveBack(buf) }()
		w := &packWorker{e: e}
		at, whole := 0, false
		defer func() {
			if !whole { // after an error or a panic
				j.failAt(at)
			}
		}()
		for k := range batches {
			at = k
			if err := j.one(w, f, k, buf, done); err != nil {
				return err
			}
		}
		whole = true
		return nil
	})
}

// one compresses batch k, unless it is held, and passes it to done.
func (j *packJob) one(w *packWorker, f vfs.File, k int, buf []byte, done func(f vfs.File, k int, b []byte) error) error {
	if j.held != nil && j.held[k] != nil {
		return done(f, k, j.held[k])
	}
	b, err := w.batch(buf[:0], j, k)
	if err != nil {
		return err
	}
	n := int64(len(b))
	if j.sizes[k] != 0 && j.sizes[k] != n {
		return fault.Usage("%s: lent data were changed during the write", w.e.File.Name)
	}
	j.sizes[k] = n
	return done(f, k, b)
}

// failAt marks batch k as failed, so that later batches stop waiting.
func (j *packJob) failAt(k int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail = min(j.fail, k)
	j.cond.Broadcast()
}

// place waits until all earlier batches have offsets, takes the next offset, and writes the bytes there.
func (j *packJob) place(f vfs.File, k int, b []byte) error {
	j.mu.Lock()
	for j.next != k && j.fail >= k {
		j.cond.Wait()
	}
	if j.fail < k {
		j.mu.Unlock()
		return context.Canceled // the failed earlier batch returns the error
	}
	j.at[k] = j.end
	j.end += int64(len(b))
	j.next++
	j.cond.Broadcast()
	j.mu.Unlock()
	return j.put(f, k, b)
}

// hold keeps the bytes of a batch if there is memory for them.
func (j *packJob) hold(_ vfs.File, k int, b []byte) error {
	if j.q.e.Proc.Reserve(int64(len(b))) != nil {
		return nil
	}
	j.held[k] = append(make([]byte, 0, len(b)), b...)
	j.mu.Lock()
	j.kept += int64(len(b))
	j.mu.Unlock()
	return nil
}

func (j *packJob) release() {
	j.q.e.Proc.Release(j.kept)
	j.kept, j.held = 0, nil
}

// put writes a batch at its offset, and records the offsets of its chunks.
func (j *packJob) put(f vfs.File, k int, b []byte) error {
	e := j.q.e
	at := j.at[k]
	j.chunks(k, func(_ ref, _ *Pend, entry, _, _ int64, _ int) error {
		x := &e.Pack.x.Entries[entry]
		x.Off = at
		at += int64(x.Stored)
		return nil
	})
	_, err := f.WriteAt(b, e.Layout.Place.DataOff+j.at[k])
	return err
}

// chunks calls f for each chunk of a batch, with its index entry and its range in the content of the piece.
func (j *packJob) chunks(k int, f func(r ref, p *Pend, entry, from, to int64, size int) error) error {
	e := j.q.e
	last := packBatch{ref: len(j.q.refs)}
	if k+1 < len(j.batches) {
		last = j.batches[k+1]
	}
	c := j.batches[k].chunk
	for i := j.batches[k].ref; i < len(j.q.refs); i, c = i+1, 0 {
		r := j.q.refs[i]
		p := j.q.pend(r)
		first, n, size := e.Pack.piece(int(r.i), p)
		for ; c*e.Pack.chunk < n; c++ {
			if i > last.ref || i == last.ref && c >= last.chunk {
				return nil
			}
			from := c * e.Pack.chunk
			if err := f(r, p, first+c, from, min(from+e.Pack.chunk, n), int(size)); err != nil {
				return err
			}
		}
		if i >= last.ref {
			return nil
		}
	}
	return nil
}

// packWorker compresses with its own buffers.
type packWorker struct {
	e             *Engine
	content, flat []byte
}

// batch appends the compressed chunks of batch k, and records everything about them except their offsets.
func (w *packWorker) batch(out []byte, j *packJob, k int) ([]byte, error) {
	e := w.e
	err := j.chunks(k, func(r ref, p *Pend, entry, from, to int64, size int) error {
		src, err := w.take(int(r.i), p, from, to)
		if err != nil {
			return err
		}
		how := e.Pack.choiceOf(e.Pack.unit(p.V))
		if size == 1 && how.form == layout.FormPlane {
			how.form = layout.FormZstd
		}
		x := layout.Entry{Content: crc32.ChecksumIEEE(src)}
		begin := len(out)
		if out, x.Form, err = w.encode(out, src, how, size); err != nil {
			return err
		}
		x.Stored, x.Sum = uint32(len(out)-begin), crc32.ChecksumIEEE(out[begin:])
		e.Pack.x.Entries[entry] = x
		return nil
	})
	return out, err
}

// take returns content of a piece. It returns the caller's memory if the file has the same bytes.
func (w *packWorker) take(i int, p *Pend, from, to int64) ([]byte, error) {
	e := w.e
	if p.V >= 0 && p.Raw != nil {
		if t := e.Layout.Schema.Vars[p.V].Type; dataset.SameType(p.Mem, t) && (e.Layout.Place.Big == dataset.HostBig || t.Size() == 1) {
			return p.Raw[from:to], nil
		}
	}
	if w.content == nil {
		w.content = make([]byte, e.Pack.chunk)
	}
	b := w.content[:to-from]
	return b, e.Layout.fill(b, i, p, from, to)
}

// encode appends a chunk, uncompressed if compression does not make it smaller.
func (w *packWorker) encode(out, src []byte, how choice, size int) ([]byte, uint8, error) {
	if how.form == layout.FormRaw {
		return append(out, src...), layout.FormRaw, nil
	}
	in := src
	if how.form == layout.FormPlane {
		if w.flat == nil {
			w.flat = make([]byte, w.e.Pack.chunk)
		}
		in = w.flat[:len(src)]
		codec.Shuffle(in, src, size)
	}
	begin := len(out)
	z, err := w.e.Proc.Zstd.Encode(out, in, how.level)
	if err != nil {
		return out, 0, err
	}
	if len(z)-begin >= len(src) {
		return append(z[:begin], src...), layout.FormRaw, nil
	}
	return z, how.form, nil
}
