package blob

import (
	"context"

	"blobio/comm"
)

// Flush writes everything that was put, after what FlushAsync has under way; when it returns, data lent until
// Flush may be used again. A process-centric writer that does not know the
// number of records copies what was put instead, and writes it at Close.
// It may be called at any time, by all ranks. Collective.
func (w *Writer) Flush(ctx context.Context) error {
	if w.closed {
		return pkg.Usage("flush after Close")
	}
	_, err := w.post(ctx, false)
	return err
}

// flushing is what all ranks agreed on at the beginning of a flush.
type flushing struct {
	records int64    // the most that any rank knows of
	idle    bool     // nobody has anything
	keys    []varRec // without a common heap: what this rank puts
	alike   alike    // what others put
}

// begin waits for a flush in the background, and agrees on what there is to do. Collective.
func (w *Writer) begin(ctx context.Context) (b flushing, err error) {
	if err = w.err; err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = w.land(ctx)
	}
	intact := int64(1)
	if err == nil && w.c.Rank() == 0 {
		if err = w.ten.check(); err != nil {
			intact = 0
		}
	}
	idle := int64(1)
	if len(w.pending) > 0 || len(w.parts) > 0 {
		idle = 0
	}
	if w.apart() && err == nil {
		b.keys = w.eng.keysOf(w.pending, w.parts, w.seen)
	}
	v, err := comm.AgreeMin(ctx, w.c, w.ten.explain(err), append(w.eng.hashKeys(b.keys), idle, ^w.Records(), intact)...)
	if err != nil {
		if v != nil && v[6] == 0 {
			w.fail(err)
			return b, err
		}
		return b, w.crash(err)
	}
	w.landed()
	b.alike, b.idle, b.records = alikeOf(v), v[4] == 1, ^v[5]
	if b.idle {
		w.seen = w.seen[:0]
	}
	return b, nil
}

// post brings everything that was put to the file, or begins to if that is left to the background. It returns the most records that any
// rank knows of. Collective.
func (w *Writer) post(ctx context.Context, background bool) (records int64, err error) {
	b, err := w.begin(ctx)
	if err != nil || b.idle {
		return b.records, err
	}
	w.flying = background
	h, err := w.collect(ctx)
	if err == nil && w.lead {
		err = w.eng.alone(func() error { return w.eng.flush(ctx, h, b, background) })
	}
	if background {
		w.copied = 0 // the flight releases them, or counts what stays
	}
	if err = w.guard(ctx, err); err != nil {
		return 0, err
	}
	if background {
		w.pending, w.away = w.away[:0], w.pending
	} else {
		w.settle()
	}
	w.parts, w.seen = nil, w.seen[:0]
	return b.records, nil
}

// apart says whether no ranks share a heap: each has its own engine, which works with others in a team.
func (w *Writer) apart() bool { return w.eng != nil && w.eng.team != nil }

// handoff is what ranks have posted since the last flush.
type handoff struct {
	lists  [][]pend // by local rank
	parts  []part
	copied int64 // bytes of it that were reserved
}

// collect hands the puts of the ranks of this process to their leader.
func (w *Writer) collect(ctx context.Context) (*handoff, error) {
	h := &handoff{[][]pend{w.pending}, w.parts, w.copied}
	if w.apart() {
		return h, nil
	}
	vals, err := w.sub.Share(ctx, h)
	if err != nil || !w.lead {
		return nil, err
	}
	h = &handoff{}
	for _, v := range vals {
		if v != nil {
			o := v.(*handoff)
			h.lists = append(h.lists, o.lists...)
			h.parts = append(h.parts, o.parts...)
			h.copied += o.copied
		}
	}
	return h, nil
}

// keepsCopies says that copies of puts live until Close.
func (w *Writer) keepsCopies() bool {
	return w.opt.keeps() && w.opt.Retain == CopyOnPut
}

// settle forgets what was flushed.
func (w *Writer) settle() {
	if !w.keepsCopies() { // else keep has counted what stays
		w.eng.proc.release(w.copied)
	}
	w.copied = 0
	clear(w.pending)
	w.pending = w.pending[:0]
}
