package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/process"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"context"
	"encoding/binary"
	"math"
)

// halves is the number of windows that an aggregator has in shared memory. It writes one window while the ranks fill the other.
const halves = 2

// memory allocates the shared memory of the windows, once. Ranks on several nodes have no shared memory.
func (t *Team) memory(ctx context.Context, o *dataset.Settings) (broken error) {
	n := halves * t.window * int64(len(t.Aggs))
	if t.asked || t.one() || o.Messages || n > math.MaxInt {
		return nil
	}
	t.asked = true
	t.mem, broken = comm.SharedMemory(ctx, t.C, int(n))
	return broken
}

// writeInterior writes the units whose bytes all belong to this rank. A unit that the puts fill is written with one call. A
// rank without such units opens no file.
func (p *plan) writeInterior(ctx context.Context, q *queue) error {
	e := p.e
	var own []ref
	for _, r := range q.refs {
		pd := q.pend(r)
		off, n, _ := e.Layout.spot(int(r.i), pd)
		if lo, hi := p.ownRange(e.Layout.Table.ID[0], varRec{pd.V, pd.Rec}, off, n); lo < hi {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return nil
	}
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	defer done()
	w := worker{q: q, f: f, buf: e.Proc.Buffer(q.bytes), ext: -1}
	defer func() { e.Proc.GiveBack(w.buf) }()
	unit := e.opt.Stripe.Size
	room := int64(len(w.buf) - process.SkewRoom)
	block := max(unit, room/unit*unit) // bytes of one write, in whole units
	for _, r := range own {
		pd := q.pend(r)
		off, n, at := e.Layout.spot(int(r.i), pd)
		lo, hi := p.ownRange(e.Layout.Table.ID[0], varRec{pd.V, pd.Rec}, off, n)
		for lo < hi {
			if err := ctx.Err(); err != nil {
				return err
			}
			if lo%block == 0 {
				w.endSum()
				if err := w.flush(); err != nil {
					return err
				}
			}
			m := min(hi-lo, block-lo%block, room)
			if err := w.piece(int(r.i), pd, lo, at+lo-off, lo-off, lo-off+m); err != nil {
				return err
			}
			e.File.wrote.Store(true)
			lo += m
		}
	}
	w.endSum()
	return w.flush()
}

// exchange moves the data that ranks do not write themselves to the aggregators, which write them. A rank with an error, or an
// aggregator that cannot write, takes part in all rounds. q may be nil if err is not nil. If l is not nil, the windows are
// written in the background.
func (p *plan) exchange(ctx context.Context, q *queue, l *later, err error) error {
	return p.exchanger(q, l, err).run(ctx)
}

func (p *plan) exchanger(q *queue, l *later, err error) *exchanger {
	t := p.e.team
	x := &exchanger{p: p, t: t, q: q, later: l, err: err}
	if p.rounds == 0 {
		return x
	}
	if err == nil {
		x.ops = p.copies(q)
	}
	if t.Slot >= 0 {
		x.chunks = p.mine(t.Slot)
	}
	return x
}

// exchanger is one rank's part in the rounds of a flush.
type exchanger struct {
	p      *plan
	t      *Team
	q      *queue
	ops    []copyOp
	chunks []chunk
	later  *later // writes the windows in the background; if nil, exchange writes them at once
	err    error  // error of this rank, which still takes part in all rounds
	filled int    // number of rounds whose windows are filled
}

func (x *exchanger) run(ctx context.Context) error {
	var f vfs.File
	if len(x.chunks) > 0 {
		e, name := x.p.e, x.p.e.File.Name
		file, err := e.Proc.Pool.Get(name, true) // without enter, because the rounds wait for other ranks
		if err == nil {
			defer e.Proc.Pool.Put(name)
			f = file
			x.p.e.File.wrote.Store(true)
		} else if x.err == nil {
			x.err = err
		}
	}
	for k := range x.p.rounds {
		var window []byte
		var broken error
		if x.t.mem != nil {
			window, broken = x.share(ctx, k)
		} else {
			window, broken = x.send(ctx, k)
		}
		if broken != nil {
			return broken
		}
		if err := x.write(f, k, window); x.err == nil {
			x.err = err
		}
	}
	return x.err
}

// take calls f for each copy of round k.
func (x *exchanger) take(k int, f func(op *copyOp) error) {
	for len(x.ops) > 0 && x.ops[0].round == k {
		op := &x.ops[0]
		x.ops = x.ops[1:]
		if err := f(op); err != nil && x.err == nil {
			x.err = err
		}
	}
}

func (x *exchanger) fill(b []byte, op *copyOp) error {
	return x.p.e.Layout.fill(b, int(op.ref.i), x.q.pend(op.ref), op.from, op.to)
}

// share fills the windows of round k in shared memory. It returns the window that this rank writes as an aggregator, or nil.
func (x *exchanger) share(ctx context.Context, k int) ([]byte, error) {
	if k >= x.filled {
		x.fillWindows(k)
		// After the fence, the aggregators have written the windows of the previous round.
		if err := x.t.mem.Fence(ctx); err != nil {
			return nil, err
		}
	}
	if x.t.Slot < 0 {
		return nil, nil
	}
	return x.window(x.t.Slot, k), nil
}

// window returns the shared memory of an aggregator for round k.
func (x *exchanger) window(slot, k int) []byte {
	at := int64(slot*halves+k%halves) * x.t.window
	return x.t.mem.Bytes()[at : at+x.t.window]
}

// fillWindows fills the windows of round k, or of all rounds if each round has its own memory.
func (x *exchanger) fillWindows(k int) {
	last := k
	if x.p.rounds <= halves {
		last = x.p.rounds - 1
	}
	for ; k <= last; k++ {
		x.take(k, func(op *copyOp) error {
			return x.fill(x.window(op.slot, k)[op.woff:op.woff+op.to-op.from], op)
		})
	}
	x.filled = k
}

// copyHeader is the size of the header of a copy in a message: its offset in the window and its length, 8 bytes each.
const copyHeader = 16

// send fills the windows of round k by messages.
func (x *exchanger) send(ctx context.Context, k int) ([]byte, error) {
	out := make([][]byte, x.t.C.Size())
	x.take(k, func(op *copyOp) error {
		to, n := x.t.Aggs[op.slot], int(op.to-op.from)
		b := binary.LittleEndian.AppendUint64(out[to], uint64(op.woff))
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
		b = append(b, make([]byte, n)...)
		out[to] = b
		return x.fill(b[len(b)-n:], op)
	})
	in, err := x.t.C.Alltoallv(ctx, out)
	if err != nil || x.t.Slot < 0 {
		return nil, err
	}
	if x.t.windows == nil {
		x.t.windows = make([]byte, x.t.window)
	}
	for _, b := range in {
		for len(b) >= copyHeader {
			at, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			b = b[copyHeader:]
			copy(x.t.windows[at:at+n], b)
			b = b[n:]
		}
	}
	return x.t.windows, nil
}

// write writes the window of round k, with one call per contiguous range of the file.
func (x *exchanger) write(f vfs.File, k int, window []byte) error {
	n := 0
	for n < len(x.chunks) && x.chunks[n].round == k {
		n++
	}
	list := x.chunks[:n]
	x.chunks = x.chunks[n:]
	if x.err != nil || f == nil || n == 0 {
		return nil
	}
	if x.later == nil {
		return x.p.writeChunks(f, list, window)
	}
	used := int64(0)
	for i := range list {
		used = max(used, list[i].woff+list[i].n)
	}
	return x.later.add(window[:used], func(b []byte) error {
		f, done, err := x.p.e.File.Open()
		if err != nil {
			return err
		}
		defer done()
		return x.p.writeChunks(f, list, b)
	})
}

// writeChunks writes chunks of a window in their order, and adds their checksums.
func (p *plan) writeChunks(f vfs.File, list []chunk, window []byte) error {
	w := worker{q: &queue{e: p.e}, ext: -1}
	for len(list) > 0 {
		m, end := 1, list[0].off+list[0].n
		for m < len(list) && list[m].off == end {
			end += list[m].n
			m++
		}
		for i := range list[:m] {
			b := window[list[i].woff:]
			p.parts(&list[i], func(ext, at, from, to int64) { w.addSum(ext, at, b[from:to]) })
		}
		at := list[0].woff
		if _, err := f.WriteAt(window[at:at+end-list[0].off], list[0].off); err != nil {
			return err
		}
		list = list[m:]
	}
	w.endSum()
	return nil
}
