package redset

import (
	"context"

	"blobio/internal/comm/inplace"
	"blobio/internal/comm/remote"
)

// buffers holds buffers that are used again for each job.
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

// worker runs a job.
type worker struct {
	e       *engine
	j       *job
	b       *buffers
	in, out []*summer
	bad     []bool // by index of in
	err     error  // why the first bad element could not be read
	broken  bool   // the communication has failed
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

// piece processes the bytes [off, off+n) of the stripe. Even after an error it sends every message that other members wait
// for.
func (w *worker) piece(ctx context.Context, off, n int64) error {
	e, j := w.e, w.j
	if w.passes() {
		return w.pass(ctx, off, n)
	}
	var first error
	in, out := make([][]byte, len(j.in)), make([][]byte, len(j.out))
	for i, el := range j.in {
		s := e.stores[el.member]
		if s == nil {
			p, done, err := inplace.Recv(ctx, e.c, el.member, tagIn)
			if err != nil {
				w.broken = true
				return err
			}
			defer done()
			if int64(len(p)) != n { // see notRead
				w.lose(i, remote.Decode(p))
				p = w.b.get(&w.b.in, i, n)
			}
			in[i] = p
		} else {
			in[i] = w.b.get(&w.b.in, i, n)
			if err := s.read(el, off, in[i]); err != nil {
				w.lose(i, err)
			}
		}
		if !e.noSums {
			w.in[i].add(in[i], off)
		}
	}
	if len(j.out) == 0 {
		return nil
	}
	_, same := j.code.(copyCoder)
	_, adds := j.code.(xorCoder)
	for i := range j.out {
		if same || adds { // the output is the input, or the sum replaces the first input
			out[i] = in[0]
		} else {
			out[i] = w.b.get(&w.b.out, i, n)
		}
	}
	if !same {
		first = j.code.code(out, in)
	}
	for i, el := range j.out {
		switch {
		case adds && e.fresh || e.noSums: // see keepOutcome
		case same:
			w.out[i] = w.in[0]
		default:
			w.out[i].add(out[i], off)
		}
		if !j.writes(i) {
			continue
		}
		if s := e.stores[el.member]; s != nil {
			if err := s.write(el, off, out[i]); err != nil && first == nil {
				first = err
			}
		} else if err := e.c.Send(ctx, el.member, tagOut, out[i]); err != nil {
			w.broken = true
			return err
		}
	}
	return first
}

// passes reports whether the job only passes a copy of this member's bytes to one other member.
func (w *worker) passes() bool {
	_, same := w.j.code.(copyCoder)
	return same && len(w.j.out) == 1 && w.j.writes(0) && w.e.stores[w.j.in[0].member] != nil && w.e.stores[w.j.out[0].member] == nil
}

// pass is piece for such a job. It reads the bytes into the message.
func (w *worker) pass(ctx context.Context, off, n int64) error {
	e, from := w.e, w.j.in[0]
	err := inplace.Send(ctx, e.c, w.j.out[0].member, tagOut, int(n), func(b []byte) error {
		if err := e.stores[from.member].read(from, off, b); err != nil {
			w.lose(0, err)
		}
		if !e.noSums {
			w.in[0].add(b, off)
		}
		w.out[0] = w.in[0]
		return nil
	})
	w.broken = err != nil
	return err
}

// notRead returns a message to a worker. It explains why the n bytes that the worker expects could not be read. The worker
// recognizes it by its length, which differs from n.
func notRead(err error, n int64) []byte {
	b := remote.Encode(err)
	if int64(len(b)) == n {
		b = append(b, '.')
	}
	return b
}

// lose records that element i could not be read.
func (w *worker) lose(i int, err error) {
	w.bad[i] = true
	if w.err == nil {
		w.err = err
	}
}

// join adds the checksums of v, whose lane follows this one.
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
