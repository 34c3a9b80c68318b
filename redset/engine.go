package redset

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"blobio/comm"
)

// Pieces are small enough that those of all members of a usual set stay in cache
// together, from the read to the last write. Messages are larger: each costs a wake-up.
const (
	localPiece   = 64 << 10  // bytes
	messagePiece = 256 << 10 // bytes
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
	checks int   // of out, so many at the end are there already: what they should be is summed, not written
	apart  *elem // of a trial: the element that has no part in it
}

// writes says whether element i of out is written.
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
	stores []*store  // by member; nil: in another process
	c      comm.Comm // of the set; nil if all stores are known
	me     int       // this member; -1: all of them
	jobs   []*job    // the same on all members
	nosum  bool

	in, out [][]outcome // by job and element: known on the worker, after share on all
}

// run does all jobs. The error is that of writing, of coding or of the communication; what could not be
// read is an outcome.
func (e *engine) run(ctx context.Context) error {
	e.in, e.out = make([][]outcome, len(e.jobs)), make([][]outcome, len(e.jobs))
	remote := false
	for _, s := range e.stores {
		remote = remote || s == nil
	}
	if remote {
		return e.rounds(ctx)
	}
	return e.local(ctx)
}

// mine says whether this process is the worker of a job.
func (e *engine) mine(j *job) bool { return e.me < 0 || j.worker == e.me }

// lane is a part of a job that one worker does.
type lane struct {
	i      int // the job
	j      *job
	lo, hi int64
	w      *worker // of whoever did it
}

// queue is the lanes of one member. All members of a set take lanes of all of them, so that no core
// is idle as long as there are any.
type queue struct {
	lanes []*lane
	next  atomic.Int64 // of all lanes; that of the first member counts
	stop  atomic.Bool  // likewise
}

// local does the jobs together with the members that share memory, as many lanes at a time as there are cores.
func (e *engine) local(ctx context.Context) error {
	if len(e.jobs) == 0 {
		return ctx.Err()
	}
	own := &queue{}
	for i, j := range e.jobs {
		if !e.mine(j) {
			continue
		}
		n := e.lay.length(j.c)
		step := (max(minLane, n/maxLanes) + localPiece - 1) / localPiece * localPiece
		for lo := int64(0); lo < n || lo == 0; lo += step {
			own.lanes = append(own.lanes, &lane{i: i, j: j, lo: lo, hi: min(n, lo+step)})
		}
	}
	queues := []*queue{own}
	if e.c != nil {
		all, err := e.c.Share(ctx, own)
		if err != nil {
			return err
		}
		queues = queues[:0]
		for _, v := range all {
			q, ok := v.(*queue)
			if !ok {
				return formatErr("", -1, "message", "a member does not share its lanes", ErrUsage)
			}
			queues = append(queues, q)
		}
	}
	err := e.lanes(ctx, queues)
	if e.c != nil {
		if berr := e.c.Barrier(ctx); berr != nil {
			return errors.Join(err, berr)
		}
	}
	if err != nil || queues[0].stop.Load() {
		return err // of the others the caller learns when all agree
	}
	var whole *worker
	for x, l := range own.lanes {
		if x == 0 || l.i != own.lanes[x-1].i {
			whole = l.w
		} else {
			whole.join(l.w)
		}
		e.note(l.i, whole)
	}
	return nil
}

// lanes does lanes of the queues until there are no more. The workers of all members are as many as cores,
// the first members have one more.
func (e *engine) lanes(ctx context.Context, queues []*queue) error {
	var list []*lane // the same on all members: neighbours are of different members
	for x, more := 0, true; more; x++ {
		more = false
		for _, q := range queues {
			if x < len(q.lanes) {
				list, more = append(list, q.lanes[x]), true
			}
		}
	}
	cores := runtime.GOMAXPROCS(0)
	workers := cores / len(queues)
	if max(e.me, 0) < cores%len(queues) {
		workers++
	}
	all := queues[0]
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for x := range workers {
		wg.Go(func() {
			var b buffers
			for !all.stop.Load() {
				i := all.next.Add(1) - 1
				if i >= int64(len(list)) {
					return
				}
				if errs[x] = e.lane(ctx, list[i], &b); errs[x] != nil {
					all.stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lane does one lane.
func (e *engine) lane(ctx context.Context, l *lane, b *buffers) error {
	l.w = e.newWorker(l.j, b)
	l.w.maps = true
	defer func() {
		for _, el := range l.j.in {
			e.stores[el.member].drop(el, l.lo, l.hi-l.lo)
		}
	}()
	for off := l.lo; off < l.hi; off += localPiece {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.w.piece(ctx, off, min(localPiece, l.hi-off)); err != nil {
			return err
		}
	}
	return nil
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
	longest := int64(0)
	for i, j := range e.jobs {
		longest = max(longest, e.lay.length(j.c))
		if e.mine(j) {
			workers[i] = e.newWorker(j, &b)
		}
	}
	buf := make([]byte, min(messagePiece, longest))
	for off := int64(0); off < longest; off += messagePiece {
		for _, j := range e.jobs {
			n := min(messagePiece, e.lay.length(j.c)-off)
			if n <= 0 || e.stores[j.worker] != nil {
				continue
			}
			for _, el := range j.in {
				if el.member != e.me {
					continue
				}
				p := buf[:n]
				if err := e.stores[e.me].read(el, off, p); err != nil {
					p = nil // tells the worker
				}
				if err := e.c.Send(ctx, j.worker, tagIn, p); err != nil {
					return err
				}
			}
		}
		for i, j := range e.jobs {
			n := min(messagePiece, e.lay.length(j.c)-off)
			if n <= 0 || workers[i] == nil {
				continue
			}
			if err := workers[i].piece(ctx, off, n); err != nil {
				if workers[i].comm {
					return err
				}
				keep(err)
			}
		}
		for _, j := range e.jobs {
			n := min(messagePiece, e.lay.length(j.c)-off)
			if n <= 0 || e.stores[j.worker] != nil {
				continue
			}
			for x, el := range j.out {
				if el.member != e.me || !j.writes(x) {
					continue
				}
				p, err := e.c.Recv(ctx, j.worker, tagOut)
				if err != nil {
					return err
				}
				if sticky == nil {
					keep(e.stores[e.me].write(el, off, p))
				}
			}
		}
	}
	for i, w := range workers {
		if w != nil {
			e.note(i, w)
		}
	}
	return sticky
}

// buffers are used again from job to job.
type buffers struct{ in, out [][]byte }

func (b *buffers) get(pool *[][]byte, i int, n int64) []byte {
	for len(*pool) <= i {
		*pool = append(*pool, nil)
	}
	if int64(len((*pool)[i])) < n {
		(*pool)[i] = make([]byte, n)
	}
	return (*pool)[i][:n]
}

// worker does a job.
type worker struct {
	e       *engine
	j       *job
	b       *buffers
	in, out []*summer
	bad     []bool // by element of in
	err     error  // the first reason for one of bad
	comm    bool   // the communication broke
	maps    bool   // files are looked at where they are; not for messages, whose makers might not survive a fault
	views   []*view
	seen    [][]byte // the bytes of views
}

func (e *engine) newWorker(j *job, b *buffers) *worker {
	w := &worker{e: e, j: j, b: b, bad: make([]bool, len(j.in)), views: make([]*view, len(j.in)), seen: make([][]byte, len(j.in))}
	for _, el := range j.in {
		w.in = append(w.in, e.lay.newSummer(e.ext, j.c, el))
	}
	for _, el := range j.out {
		w.out = append(w.out, e.lay.newSummer(e.ext, j.c, el))
	}
	return w
}

// piece does bytes [off, off+n) of the stripe. Every message that others wait for is sent, even after an error.
func (w *worker) piece(ctx context.Context, off, n int64) error {
	e, j := w.e, w.j
	var first error
	in, out := make([][]byte, len(j.in)), make([][]byte, len(j.out))
	clear(w.seen)
	defer w.release()
	for i, el := range j.in {
		s := e.stores[el.member]
		if s == nil {
			p, err := e.c.Recv(ctx, el.member, tagIn)
			if err != nil {
				w.comm = true
				return err
			}
			if int64(len(p)) != n {
				w.lose(i, nil)
				p = w.b.get(&w.b.in, i, n)
			}
			in[i] = p
		} else if in[i] = w.look(i, off, n); in[i] != nil {
			continue // and summed
		} else {
			in[i] = w.b.get(&w.b.in, i, n)
			if err := s.read(el, off, in[i]); err != nil {
				w.lose(i, err)
			}
		}
		if !e.nosum {
			w.in[i].add(in[i], off)
		}
	}
	if len(j.out) == 0 {
		return nil
	}
	_, same := j.code.(copyCoder)
	for i := range j.out {
		if same {
			out[i] = in[0]
		} else {
			out[i] = w.b.get(&w.b.out, i, n)
		}
	}
	for again := !same; again; {
		again = false
		if i := guarded(w.seen, func() { first = j.code.code(out, in) }); i >= 0 {
			w.vanished(i, off)
			in[i], again = w.b.get(&w.b.in, i, n), true
		}
	}
	for i, el := range j.out {
		if !e.nosum {
			if same {
				w.out[i] = w.in[0]
			} else {
				w.out[i].add(out[i], off)
			}
		}
		if !j.writes(i) {
			continue
		}
		if s := e.stores[el.member]; s != nil {
			err := s.write(el, off, out[i])
			if err != nil && guarded(w.seen, func() { touch(in[0]) }) >= 0 { // it is what was to be written that failed
				w.vanished(0, off)
				err = nil
			}
			if err != nil && first == nil {
				first = err
			}
		} else if err := e.c.Send(ctx, el.member, tagOut, out[i]); err != nil {
			w.comm = true
			return err
		}
	}
	return first
}

// look returns bytes [off, off+n) of element i where they are, with the sum taken; nil if they have to be read. A
// view is in one range of the summer, which knows nothing of bytes at which it was stopped.
func (w *worker) look(i int, off, n int64) []byte {
	if !w.maps {
		return nil
	}
	el := w.j.in[i]
	b, v := w.e.stores[el.member].view(el, off, n)
	if b == nil {
		return nil
	}
	w.seen[i], w.views[i] = b, v
	if guarded(w.seen, func() {
		if w.e.nosum {
			touch(b)
		} else {
			w.in[i].add(b, off)
		}
	}) >= 0 {
		w.seen[i] = nil
		return nil
	}
	return b
}

// release ends the use of what look returned.
func (w *worker) release() {
	for i, v := range w.views {
		if v != nil {
			v.release()
			w.views[i] = nil
		}
	}
}

// lose notes that element i could not be read.
func (w *worker) lose(i int, err error) {
	w.bad[i] = true
	if w.err == nil {
		w.err = err
	}
}

// vanished notes that element i could be read, and could not any more when it was needed again.
func (w *worker) vanished(i int, off int64) {
	el := w.j.in[i]
	w.lose(i, errVanished(w.e.stores[el.member].name(el, off)))
	w.seen[i] = nil
}

// join adds the sums of a lane right after this one.
func (w *worker) join(v *worker) {
	for i := range w.in {
		w.in[i].join(v.in[i])
		w.bad[i] = w.bad[i] || v.bad[i]
	}
	if w.err == nil {
		w.err = v.err
	}
	for i := range w.out {
		if w.out[i] != w.in[0] {
			w.out[i].join(v.out[i])
		}
	}
}

// note keeps what a worker found, of this member or another, as of job i.
func (e *engine) note(i int, w *worker) {
	e.in[i], e.out[i] = nil, nil
	for x, s := range w.in {
		e.in[i] = append(e.in[i], outcome{bad: w.bad[x], crc: s.crc, err: w.err})
	}
	for _, s := range w.out {
		e.out[i] = append(e.out[i], outcome{crc: s.crc})
	}
}

// share makes the outcomes of all jobs known to all members of the set.
func (e *engine) share(ctx context.Context) error {
	if e.c == nil {
		return nil
	}
	var b []byte
	for i, j := range e.jobs {
		if !e.mine(j) {
			continue
		}
		for _, o := range append(append([]outcome(nil), e.in[i]...), e.out[i]...) {
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
	all, err := e.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	all = append([][]byte(nil), all...)
	for i, j := range e.jobs {
		if e.mine(j) {
			continue
		}
		e.in[i], e.out[i] = nil, nil
		for k, el := range append(append([]elem(nil), j.in...), j.out...) {
			n := len(e.lay.newSummer(e.ext, j.c, el).crc)
			m := all[j.worker]
			if len(m) < 1+4*n {
				return formatErr("", -1, "message", "checksums of another member are cut short", ErrCorrupt)
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
	return nil
}
