package write

import (
	"blobio/comm"
	"blobio/internal/base/fault"
	"context"
	"slices"
)

// writeOwn writes the data that this rank does not leave to aggregators, and returns their number of bytes.
func (p *plan) writeOwn(ctx context.Context, q *queue) (int64, error) {
	e := p.e
	if p.own == nil && !p.ownAll {
		return 0, nil
	}
	if e.opt.Stripe.Size > 0 && !e.team.one() {
		return q.bytes, p.writeInterior(ctx, q)
	}
	if !p.ownAll {
		own := &queue{e: e, lists: q.lists, maps: q.maps, size: q.size}
		for _, r := range q.refs {
			if p.own[q.pend(r).V] {
				own.refs = append(own.refs, r)
			}
		}
		own.cut()
		q = own
	}
	e.File.wrote.Store(true)
	return q.bytes, q.run(ctx)
}

// FlushAsync is blob.Writer.FlushAsync.
func (w *Writer) FlushAsync(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.FlushAsync")
	if w.State.closed {
		return fault.Usage("flush after Close")
	}
	w.State.lacked = nil
	if _, err := w.post(ctx, true); err != nil {
		return err
	}
	return w.Held.take()
}

// Wait is blob.Writer.Wait.
func (w *Writer) Wait(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Wait")
	if w.State.closed {
		return fault.Usage("wait after Close")
	}
	if err := w.settleDue(ctx); err != nil {
		return err
	}
	err := w.State.Err
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = w.Puts.land(ctx)
	}
	if err = comm.Agree(ctx, w.Job.C, err); err != nil {
		return w.State.crash(err)
	}
	w.Puts.landed()
	return w.Held.take()
}

// Flush is blob.Writer.Flush.
func (w *Writer) Flush(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Flush")
	if w.State.closed {
		return fault.Usage("flush after Close")
	}
	defer w.State.again()()
	if _, err := w.post(ctx, false); err != nil {
		return err
	}
	return w.Held.take()
}

// Flushing is what all ranks agreed on at the beginning of a flush.
type Flushing struct {
	records   int64    // one more than the highest record of any rank
	idle      bool     // no rank has put anything
	keys      []varRec // variables and records that this rank has put, unless the ranks share a heap
	alike     alike    // how far the puts of other ranks match the puts of this rank
	undivided []part   // this rank's puts of variables without a decomposition
	differ    bool     // undivided differs between ranks, see exchangeUndivided
}

// Words that ranks agree on at the beginning of a flush, after the words of hashKeys. With the word for errors they are at most
// eight words, which package comm/mpi sends in one message.
const (
	wordStage   = hashWords + iota // the lowest stage of all ranks
	wordRecords                    // ^records
)

// stage is a rank's state at the beginning of a flush. The lowest stage of all ranks counts.
const (
	stageUnfit int64 = iota // the rank cannot continue, because the dataset was taken over or a write has failed
	stageOpen               // the rank has data to write
	stageIdle               // the rank has no data
)

// begin waits for the background flush and agrees with the other ranks what this flush writes. Collective.
func (w *Writer) begin(ctx context.Context) (b Flushing, err error) {
	if err := w.settleDue(ctx); err != nil {
		return b, err
	}
	if err = w.State.Err; err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = w.Puts.land(ctx)
	}
	if err == nil && w.Commits.Count > 0 {
		err = w.Puts.dropCommitted(w.Commits.Sealed)
	}
	stage := stageIdle
	if len(w.Puts.list) > 0 || len(w.Puts.parts) > 0 || len(w.Puts.seen) > 0 {
		stage = stageOpen
	}
	if err == nil && w.Job.Lead && w.Job.Eng.Seal.late != nil {
		err, stage = w.Job.Eng.Seal.late, stageUnfit
	}
	if err == nil && w.Job.C.Rank() == 0 {
		if err = w.Job.Ten.CheckChanged(); err != nil {
			stage = stageUnfit
		}
	}
	if w.Job.apart() && err == nil {
		b.keys = w.Job.Eng.Layout.keysOf(w.Puts.list, w.Puts.parts, w.Puts.seen)
	}
	words := [2]int64{noSay, noSay}
	if err == nil {
		b.undivided, words, err = w.Puts.undividedWords()
	}
	v, err := comm.AgreeMin(ctx, w.Job.C, w.Job.Ten.Explain(err), append(w.Job.Eng.hashKeys(b.keys, words), stage, ^w.Puts.Records())...)
	if err != nil {
		if v != nil && v[wordStage] == stageUnfit {
			w.State.Fail(err)
			return b, err
		}
		return b, w.State.crash(err)
	}
	w.Puts.landed()
	b.alike, b.differ, b.idle, b.records = alikeOf(v), !w.Puts.each && undividedDiffer(v), v[wordStage] == stageIdle, ^v[wordRecords]
	w.Commits.Known = max(w.Commits.Known, b.records)
	return b, nil
}

// post writes all puts to the file, or launches a background flush that writes them. It returns the highest number of records
// that any rank knows. Collective.
func (w *Writer) post(ctx context.Context, background bool) (records int64, err error) {
	b, err := w.begin(ctx)
	if err != nil || b.idle {
		return b.records, err
	}
	if b.differ {
		if err := w.Puts.exchangeUndivided(ctx, b.undivided, &b); err != nil {
			w.State.Fail(err)
			return 0, err
		}
	}
	b.undivided = nil
	w.Puts.dropSeen(always)
	w.Puts.flying = background
	h, err := w.Puts.collect(ctx)
	if err == nil && w.Job.Lead {
		err = w.Job.Eng.background.alone(func() error { return w.Job.Eng.flush(ctx, h, b, background) })
	}
	if background {
		w.Puts.copied = 0 // the flight releases the copies, or counts the copies that it keeps
	}
	if err = w.State.guard(ctx, err); err != nil {
		return 0, err
	}
	if background {
		w.Puts.list, w.Puts.away = w.Puts.away[:0], w.Puts.list
	} else {
		w.Puts.settle()
	}
	w.Puts.parts = nil
	return b.records, nil
}

// flush writes the puts of the local ranks, or launches a background flush. Parts are combined with the puts of sub rank 0; only
// the process of sub rank 0 has parts. b describes the puts of other ranks. In a team of several processes, a rank with an error
// takes part without data; the caller still has to agree on the error.
func (e *Engine) flush(ctx context.Context, h *handoff, b Flushing, background bool) error {
	err := e.assemble(h.lists, h.parts)
	local := e.team.one() || e.opt.Keeps() // no other process takes part
	if local && (err != nil || !slices.ContainsFunc(h.lists, func(l []Pend) bool { return len(l) > 0 })) {
		return err // no data, so no maps either: the first data and the maps are written together
	}
	work, copied := func(ctx context.Context) (int64, error) { return e.Write(ctx, h.lists, b, nil, err) }, h.copied
	if e.opt.Keeps() {
		work, copied = func(context.Context) (int64, error) { return 0, e.Kept.add(h.lists, h.copied) }, 0
	}
	switch {
	case !background:
		_, err = work(ctx)
		return err
	case local:
		e.background.launch(ctx, copied, work)
		return nil
	}
	l := newLater(e.Proc)
	e.background.launch(ctx, copied, l.run)
	_, err = e.Write(ctx, h.lists, b, l, err)
	l.close(err)
	return err
}

// Write writes puts to the file, and before the first puts the variables of the maps. It returns how many bytes of its own data
// this process has written. If l is not nil, it leaves these writes and the windows to l. b describes the puts of other ranks. A
// rank with an error takes part without data, so that the others can continue. Collective in the team.
func (e *Engine) Write(ctx context.Context, lists [][]Pend, b Flushing, l *later, err error) (n int64, _ error) {
	if err == nil {
		e.note(lists)
	}
	if e.Pack != nil {
		return e.writePacked(ctx, lists, l, err)
	}
	maps := e.Layout.mapPends()
	sets, broken := e.keySets(ctx, maps, b)
	if broken == nil {
		broken = e.team.memory(ctx, e.opt)
	}
	if broken != nil {
		return 0, broken
	}
	p := e.newPlan(sets, e.team.ownMin(e.opt))
	var q *queue
	if err == nil {
		q = newQueue(e, lists, maps)
		if err = e.reserve(q, sets); err == nil {
			n, err = l.do(ctx, func(ctx context.Context) (int64, error) { return p.writeOwn(ctx, q) })
		}
	}
	if l != nil {
		l.onlyWindows()
	}
	e.Layout.MapsOut = true
	return n, p.exchange(ctx, q, l, err)
}

// reserve allocates space up to the end of the data, so that a full disk is found before anything is written, and so that blocks
// are contiguous. Only the process of sub rank 0 reserves.
func (e *Engine) reserve(q *queue, sets [][]varRec) error {
	if e.Layout.Table.ID[0] != 0 {
		return nil
	}
	end := int64(0)
	if n := len(q.refs); n > 0 {
		last := q.pend(q.refs[n-1])
		end = e.Layout.extentEnd(varRec{last.V, last.Rec})
	}
	for _, keys := range sets {
		if n := len(keys); n > 0 {
			end = max(end, e.Layout.extentEnd(keys[n-1]))
		}
	}
	if end <= e.File.End {
		return nil
	}
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	defer done()
	if err := f.Allocate(e.File.End, end-e.File.End); err != nil {
		return err
	}
	e.File.End = end
	return nil
}
