package redset

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"

	"blobio/comm"
)

// Pieces are small enough that those of all members of a usual set stay in cache
// together, from the read to the last write. Messages are larger: each costs a wake-up.
const (
	localPiece   = 64 << 10  // bytes
	messagePiece = 256 << 10 // bytes
	minLane      = 4 << 20   // bytes of an element that are worth a goroutine
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
}

// outcome is what is known of one element after a job.
type outcome struct {
	bad bool // could not be read
	crc []uint32
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

// local does the jobs of this member, divided into lanes if there are cores to spare.
func (e *engine) local(ctx context.Context) error {
	type lane struct {
		job    int
		lo, hi int64
		w      *worker
	}
	ranks, mine := len(e.stores), 0
	if e.me < 0 {
		ranks = 1
	}
	for _, j := range e.jobs {
		if e.mine(j) {
			mine++
		}
	}
	if mine == 0 {
		return ctx.Err()
	}
	cores := max(1, runtime.GOMAXPROCS(0)/ranks)
	var lanes []*lane
	for i, j := range e.jobs {
		if !e.mine(j) {
			continue
		}
		n := e.lay.length(j.c)
		split := max(1, min(int64(cores/mine), n/minLane))
		step := (n/split + localPiece) / localPiece * localPiece
		for lo := int64(0); lo < n || lo == 0; lo += step {
			lanes = append(lanes, &lane{job: i, lo: lo, hi: min(n, lo+step)})
		}
	}
	var next sync.Mutex
	at := 0
	var errs []error
	var wg sync.WaitGroup
	for range min(cores, len(lanes)) {
		wg.Go(func() {
			var b buffers
			for {
				next.Lock()
				i := at
				at++
				stop := len(errs) > 0
				next.Unlock()
				if stop || i >= len(lanes) {
					return
				}
				l := lanes[i]
				l.w = e.newWorker(e.jobs[l.job], &b)
				var err error
				for off := l.lo; off < l.hi && err == nil; off += localPiece {
					if err = ctx.Err(); err == nil {
						err = l.w.piece(ctx, off, min(localPiece, l.hi-off))
					}
				}
				if err != nil {
					next.Lock()
					errs = append(errs, err)
					next.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	var whole *worker
	for i, l := range lanes {
		if i == 0 || l.job != lanes[i-1].job {
			whole = l.w
		} else {
			whole.join(l.w)
		}
		whole.outcomes(l.job)
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
			for _, el := range j.out {
				if el.member != e.me {
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
			w.outcomes(i)
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
	comm    bool   // the communication broke
}

func (e *engine) newWorker(j *job, b *buffers) *worker {
	w := &worker{e: e, j: j, b: b, bad: make([]bool, len(j.in))}
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
	for i, el := range j.in {
		if s := e.stores[el.member]; s != nil {
			in[i] = w.b.get(&w.b.in, i, n)
			if err := s.read(el, off, in[i]); err != nil {
				w.bad[i] = true
			}
		} else {
			p, err := e.c.Recv(ctx, el.member, tagIn)
			if err != nil {
				w.comm = true
				return err
			}
			if int64(len(p)) != n {
				w.bad[i] = true
				p = w.b.get(&w.b.in, i, n)
			}
			in[i] = p
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
	if !same {
		first = j.code.code(out, in)
	}
	for i, el := range j.out {
		if !e.nosum {
			if same {
				w.out[i] = w.in[0]
			} else {
				w.out[i].add(out[i], off)
			}
		}
		if s := e.stores[el.member]; s != nil {
			if err := s.write(el, off, out[i]); err != nil && first == nil {
				first = err
			}
		} else if err := e.c.Send(ctx, el.member, tagOut, out[i]); err != nil {
			w.comm = true
			return err
		}
	}
	return first
}

// join adds the sums of a lane right after this one.
func (w *worker) join(v *worker) {
	for i := range w.in {
		w.in[i].join(v.in[i])
		w.bad[i] = w.bad[i] || v.bad[i]
	}
	for i := range w.out {
		if w.out[i] != w.in[0] {
			w.out[i].join(v.out[i])
		}
	}
}

// outcomes notes what the worker found, as of job i.
func (w *worker) outcomes(i int) {
	w.e.in[i], w.e.out[i] = nil, nil
	for x, s := range w.in {
		w.e.in[i] = append(w.e.in[i], outcome{w.bad[x], s.crc})
	}
	for _, s := range w.out {
		w.e.out[i] = append(w.e.out[i], outcome{false, s.crc})
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
