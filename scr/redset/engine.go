package redset

import (
	"context"
	"encoding/binary"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/remote"
)

// Pieces are small enough that one of each member of a usual set stays in cache
// together, from the read to the last write. Messages are larger: each costs a wake-up.
const (
	localPiece   = 64 << 10  // bytes
	messagePiece = 256 << 10 // bytes
	piecesAhead  = 4         // pieces of an element that travel while one is worked on
	maxAhead     = 64        // pieces of all elements
	meetEvery    = 4         // times as many pieces as travel: after these all wait for each other
	minLane      = 4 << 20   // bytes of an element that one worker does at a time
	maxLanes     = 256       // of one element
)

// Tags of the messages between the members of a set.
const (
	tagIn = iota
	tagOut
)

// job makes the elements out of stripe c from its elements in, and sums all of them. Its
// worker is the member that computes. Without out it only reads and sums.
type job struct {
	c      int
	worker int
	in     []elem
	out    []elem
	code   coder
	checks int   // number of out, from the end, that are there already: what they should be is summed, not written
	apart  *elem // of a trial: the element that has no part in it
}

// writes reports whether element i of out is written.
func (j *job) writes(i int) bool { return i < len(j.out)-j.checks }

// outcome is what is known of one element after a job.
type outcome struct {
	bad bool // could not be read
	crc []uint32
	err error // why it is bad; on the worker only
}

// engine does jobs, with each byte read once. Members whose store is known are read and
// written directly by the worker; the others by messages.
type engine struct {
	lay    *layout
	ext    [][]extent
	stores []*store  // by member; nil: on another node
	c      comm.Comm // of the set; nil if all stores are known
	me     int       // this member; -1: all of them
	jobs   []*job    // the same on all members
	fresh  bool      // what is made is new: there is nothing that the bytes of a sum, computed once more from them, could be held against

	in, out [][]outcome // by job and element: known on the worker, after tell on all
}

// share makes the stores of the members of the set known to each other, if they are in the same memory.
func (e *engine) share(ctx context.Context, own *store) error {
	e.stores = make([]*store, e.c.Size())
	if comm.Apart(e.c) {
		e.stores[e.me] = own
		return nil
	}
	all, err := e.c.Share(ctx, own)
	for i, s := range all {
		e.stores[i], _ = s.(*store)
	}
	return err
}

// remote reports whether there are stores that are not known.
func (e *engine) remote() bool { return slices.Contains(e.stores, nil) }

// run does all jobs. The error is of writing, of coding or of the communication; what could not be
// read is an outcome.
func (e *engine) run(ctx context.Context) error {
	e.in, e.out = make([][]outcome, len(e.jobs)), make([][]outcome, len(e.jobs))
	if e.remote() {
		return e.rounds(ctx)
	}
	return e.local(ctx)
}

// mine reports whether this process is the worker of a job.
func (e *engine) mine(j *job) bool { return e.me < 0 || j.worker == e.me }

// turn is bytes [off, off+n) of the stripe of a job.
type turn struct {
	job    int
	off, n int64 // n is 0: none
}

// turns returns a function that returns the pieces of all jobs, one a call, in the order in which all members do them.
func (e *engine) turns() func() turn {
	i, off, more := 0, int64(0), false
	return func() turn {
		for {
			if i == len(e.jobs) {
				if !more {
					return turn{}
				}
				i, off, more = 0, off+messagePiece, false
			}
			p := turn{i, off, min(messagePiece, e.lay.length(e.jobs[i].c)-off)}
			if i++; p.n > 0 {
				more = true
				return p
			}
		}
	}
}

// rounds does the jobs piece by piece, all members together. A member that fails goes on
// sending, so that nobody waits for it; the caller agrees on the errors.
func (e *engine) rounds(ctx context.Context) error {
	var sticky error
	keep := func(err error) {
		if sticky == nil {
			sticky = err
		}
	}
	workers := make([]*worker, len(e.jobs))
	var b buffers
	for i, j := range e.jobs {
		if e.mine(j) {
			workers[i] = e.newWorker(j, &b)
		}
	}
	buf := make([]byte, messagePiece)
	send := func(p turn) error {
		j := e.jobs[p.job]
		if e.stores[j.worker] != nil {
			return nil
		}
		for _, el := range j.in {
			if el.member != e.me {
				continue
			}
			b := buf[:p.n]
			if err := e.stores[e.me].read(el, p.off, b); err != nil {
				b = notRead(err, p.n)
			}
			if err := e.c.Send(ctx, j.worker, tagIn, b); err != nil {
				return err
			}
		}
		return nil
	}
	work := func(p turn) error {
		w := workers[p.job]
		if w == nil {
			return nil
		}
		err := w.piece(ctx, p.off, p.n)
		if err != nil && w.broken {
			return err
		}
		keep(err)
		return nil
	}
	receive := func(p turn) error {
		j := e.jobs[p.job]
		if e.stores[j.worker] != nil {
			return nil
		}
		for x, el := range j.out {
			if el.member != e.me || !j.writes(x) {
				continue
			}
			b, err := e.c.Recv(ctx, j.worker, tagOut)
			if err != nil {
				return err
			}
			if sticky == nil {
				keep(e.stores[e.me].write(el, p.off, b))
			}
		}
		return nil
	}
	// Pieces for other ranks to work on are sent a few pieces ahead, and their results are received a few pieces later, so nobody waits for a
	// piece that was only just begun. Send does not wait, so all ranks meet now and then: what travels has to be in memory.
	ahead := min(piecesAhead*e.lay.n, maxAhead)
	window := make([]turn, 2*ahead+1) // from the piece to be received on to that to be sent
	next := e.turns()
	for t, left := 0, 2*ahead; left > 0; t++ {
		p := next()
		if p.n == 0 {
			left--
		}
		window[t%len(window)] = p
		for i, do := range []func(turn) error{send, work, receive} {
			if p := window[(t+len(window)-i*ahead)%len(window)]; p.n > 0 {
				if err := do(p); err != nil {
					return err
				}
			}
		}
		if (t+1)%(meetEvery*ahead) == 0 {
			if err := e.c.Barrier(ctx); err != nil {
				return err
			}
		}
	}
	for i, w := range workers {
		if w != nil {
			e.keepOutcome(i, w)
		}
	}
	return sticky
}

// notRead is a message to a worker: why the n bytes that it waits for could not be read: it has another length.
func notRead(err error, n int64) []byte {
	b := remote.Encode(err)
	if int64(len(b)) == n {
		b = append(b, '.')
	}
	return b
}

// keepOutcome keeps what a worker found, of this member or another, as of job i.
func (e *engine) keepOutcome(i int, w *worker) {
	e.in[i], e.out[i] = nil, nil
	for x, s := range w.in {
		e.in[i] = append(e.in[i], outcome{bad: w.bad[x], crc: s.crc, err: w.err})
	}
	_, adds := w.j.code.(xorCoder)
	for _, s := range w.out {
		if adds && e.fresh {
			s.crc = []uint32{xorSum(w.in, e.lay.length(w.j.c))}
		}
		e.out[i] = append(e.out[i], outcome{crc: s.crc})
	}
}

// tell makes the outcomes of all jobs known to all members of the set, after run returned failed. If that is an error on one of them
// there are none: ok is false on all, and there is an error to agree on. Whoever returns from it knows that all have run.
func (e *engine) tell(ctx context.Context, failed error) (ok bool, err error) {
	if e.c == nil {
		return failed == nil, nil
	}
	b := []byte{1} // followed by nothing, if there are no jobs
	for i, j := range e.jobs {
		if !e.mine(j) {
			continue
		}
		for _, o := range slices.Concat(e.in[i], e.out[i]) {
			bad := byte(0)
			if o.bad {
				bad = 1
			}
			b = append(b, bad)
			for _, crc := range o.crc {
				b = binary.BigEndian.AppendUint32(b, crc)
			}
		}
	}
	if failed != nil {
		b = nil
	}
	all, err := e.c.Allgather(ctx, b)
	if err != nil || anyEmpty(all) {
		return false, err
	}
	all = slices.Clone(all)
	for m := range all {
		all[m] = all[m][1:]
	}
	for i, j := range e.jobs {
		if e.mine(j) {
			continue
		}
		e.in[i], e.out[i] = nil, nil
		for k, el := range append(append([]elem(nil), j.in...), j.out...) {
			n := len(e.lay.newSummer(e.ext, j.c, el).crc)
			m := all[j.worker]
			if len(m) < 1+4*n {
				return false, formatErr("", -1, "message", "checksums of another member are cut short", fault.ErrCorrupt)
			}
			o := outcome{bad: m[0] != 0, crc: make([]uint32, n)}
			for x := range o.crc {
				o.crc[x] = binary.BigEndian.Uint32(m[1+4*x:])
			}
			all[j.worker] = m[1+4*n:]
			if k < len(j.in) {
				e.in[i] = append(e.in[i], o)
			} else {
				e.out[i] = append(e.out[i], o)
			}
		}
	}
	return true, nil
}
