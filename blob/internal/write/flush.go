package write

import (
	"blobio/comm"
	"blobio/internal/base/fault"
	"context"
	"slices"
)

// writeOwn writes what this rank does not give away, and returns how many bytes that are.
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
	records   int64    // the most that any rank knows of
	idle      bool     // nobody has anything
	keys      []varRec // without a common heap: what this rank puts
	alike     alike    // what others put
	undivided []part   // what this rank has put of variables without a decomposition
	differ    bool     // ranks have not all put the same of them, see exchangeUndivided
}

// Words that ranks agree on at the beginning of a flush, beside the words of hashKeys. With the word of an error they are at most eight,
// which package comm/mpi sends at once.
const (
	wordStage   = hashWords + iota // a stage
	wordRecords                    // ^records
)

// stage says how far a rank is when a flush begins; the least of all ranks counts.
const (
	stageUnfit int64 = iota // it cannot go on: the dataset was taken over, or a write has failed
	stageOpen               // it has something to write, and waits for the others
	stageIdle               // it has nothing
)

// begin waits for a flush in the background, and agrees on what there is to do. Collective.
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

// post brings everything that was put to the file, or begins to if that is left to the background. It returns the most records that any
// rank knows of. Collective.
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
		w.Puts.copied = 0 // the flight releases them, or counts what stays
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

// flush writes what the local ranks have posted, or launches that. The parts are sub rank 0's, if it is local. b says what others
// put; in a team of several a rank that has met an error takes part with nothing to write, and it is still to be agreed.
func (e *Engine) flush(ctx context.Context, h *handoff, b Flushing, background bool) error {
	err := e.assemble(h.lists, h.parts)
	local := e.team.one() || e.opt.Keeps() // no other process takes part
	if local && (err != nil || !slices.ContainsFunc(h.lists, func(l []Pend) bool { return len(l) > 0 })) {
		return err // the maps go with the first data, which lie between them
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

// Write brings puts to the file, and the map variables before the first; it returns how many bytes this process has written of its own. With l
// that is left to it, and so are windows. b says what others put. A rank that has met an error takes part with nothing
// to write, and so all others can go on. Collective in the team.
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

// reserve reserves the space up to the end of what is written, so that a full disk is known before
// anything is written, and blocks lie together. The process of sub rank 0 does it for all.
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
