package redset

import (
	"context"
	"encoding/binary"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/inplace"
)

// The pieces of all members of a typical set fit in the processor's cache together, so that bytes that were read are still there
// when they are written. Messages are larger than pieces, because each message costs a wake-up.
const (
	localPiece   = 64 << 10  // in bytes
	messagePiece = 512 << 10 // in bytes
	piecesAhead  = 4         // number of pieces of an element that are sent before the piece in work
	maxAhead     = 32        // maximum number of pieces sent ahead, for all elements together
	meetEvery    = 4         // all members meet after this multiple of the number of pieces sent ahead
	minLane      = 4 << 20   // minimum number of bytes of an element for one worker
	maxLanes     = 256       // maximum number of lanes of one element
)

// Tags of the messages between the members of a set.
const (
	tagIn = iota
	tagOut
)

// job computes some elements (out) of stripe c from other elements (in). It also computes the checksums of all these elements.
// worker is the member that computes. If out is empty, the job only reads the elements and computes checksums.
type job struct {
	c      int
	worker int
	in     []elem
	out    []elem
	code   coder
	checks int   // number of elements at the end of out that already exist; they are computed only for comparison and are not written
	apart  *elem // in a trial, the element that is left out
}

// writes reports whether the job writes element i of out.
func (j *job) writes(i int) bool { return i < len(j.out)-j.checks }

// outcome is the result of a job for one element.
type outcome struct {
	bad bool // the element could not be read
	crc []uint32
	err error // why the element is bad; known only to the worker
}

// engine runs jobs and reads each byte once. The worker accesses the bytes of a member directly if the member's store is known,
// and otherwise by messages.
type engine struct {
	lay    *layout
	ext    [][]extent
	stores []*store  // store of each member; nil: the member is on another node
	c      comm.Comm // Comm of the set; nil if all stores are known
	me     int       // this member; -1: the engine works for all members
	jobs   []*job    // same on all members
	noSums bool      // no checksums are needed; they are 0
	fresh  bool      // the results are new files, so that checksums need not be compared with earlier bytes

	in, out [][]outcome // outcomes by job and element; run sets them on the worker, and tell on all members
}

// share exchanges the stores of members that share memory.
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

// remote reports whether the store of some member is unknown.
func (e *engine) remote() bool { return slices.Contains(e.stores, nil) }

// run runs all jobs. The error comes from writing, coding or communication. A failed read is not an error but an outcome.
func (e *engine) run(ctx context.Context) error {
	e.in, e.out = make([][]outcome, len(e.jobs)), make([][]outcome, len(e.jobs))
	if e.remote() {
		return e.rounds(ctx)
	}
	return e.local(ctx)
}

// mine reports whether this process is the worker of a job.
func (e *engine) mine(j *job) bool { return e.me < 0 || j.worker == e.me }

// turn is one step of a job, for the range [off, off+n) of the stripe.
type turn struct {
	job    int
	off, n int64 // if n is 0, there is no step
}

// turns returns a function that returns the next piece of the jobs at each call. The order is the same on all members.
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

// rounds runs the jobs piece by piece. All members process the pieces in the same order. A member that has failed keeps sending,
// so that no other member waits forever. The caller agrees on the errors.
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
	send := func(p turn) error {
		j := e.jobs[p.job]
		if e.stores[j.worker] != nil {
			return nil
		}
		for _, el := range j.in {
			if el.member != e.me {
				continue
			}
			var failed error
			err := inplace.Send(ctx, e.c, j.worker, tagIn, int(p.n), func(b []byte) error {
				failed = e.stores[e.me].read(el, p.off, b)
				return failed
			})
			if failed != nil {
				err = e.c.Send(ctx, j.worker, tagIn, notRead(failed, p.n))
			}
			if err != nil {
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
			b, done, err := inplace.Recv(ctx, e.c, j.worker, tagOut)
			if err != nil {
				return err
			}
			if sticky == nil {
				keep(e.stores[e.me].write(el, p.off, b))
			}
			done()
		}
		return nil
	}
	// Pieces for other ranks are sent a few pieces before they are needed, and results are received a few pieces later, so that no
	// rank waits for a piece that another rank has just begun. Sending does not block. Therefore all ranks meet regularly, to
	// limit the memory for messages.
	ahead := min(piecesAhead*e.lay.n, maxAhead)
	window := make([]turn, 2*ahead+1) // from the piece to be received to the piece to be sent
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

// keepOutcome stores the results of a worker for job i. The worker may be on another member.
func (e *engine) keepOutcome(i int, w *worker) {
	e.in[i], e.out[i] = nil, nil
	for x, s := range w.in {
		e.in[i] = append(e.in[i], outcome{bad: w.bad[x], crc: s.crc, err: w.err})
	}
	_, adds := w.j.code.(xorCoder)
	for _, s := range w.out {
		if adds && e.fresh && !e.noSums {
			s.crc = []uint32{xorSum(w.in, e.lay.length(w.j.c))}
		}
		e.out[i] = append(e.out[i], outcome{crc: s.crc})
	}
}

// tell sends the outcomes of all jobs to all members of the set. failed is the error that run returned. If run failed on a member,
// ok is false on all members, and the caller must agree on the error. When tell returns, all members have finished run.
func (e *engine) tell(ctx context.Context, failed error) (ok bool, err error) {
	if e.c == nil {
		return failed == nil, nil
	}
	b := []byte{1} // without jobs this is the whole message, which must not be empty
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
				return false, formatErr("", -1, "message", "the checksums of another member are truncated", fault.ErrCorrupt)
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
