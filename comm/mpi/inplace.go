//go:build mpi && cgo

package mpi

import "context"

// SendInPlace implements inplace.Send.
func (r *rank) SendInPlace(ctx context.Context, to, tag, n int, write func([]byte) error) error {
	if to == r.rank || n > r.e.opts.Piece-envelopeMPI {
		b := make([]byte, n)
		if err := write(b); err != nil {
			return err
		}
		return r.Send(ctx, to, tag, b)
	}
	buf := r.e.take(envelopeMPI + n)
	if err := write(buf.bytes(envelopeMPI + n)[envelopeMPI:]); err != nil {
		r.e.give(buf)
		return err
	}
	posted := false
	err := r.call(ctx, func() error {
		if err := r.checkMessage(to, tag); err != nil {
			return err
		}
		posted = true
		return r.post(buf, n, n, to, tag)
	})
	if !posted {
		r.e.give(buf)
	}
	return err
}

// RecvInPlace implements inplace.Recv.
func (r *rank) RecvInPlace(ctx context.Context, from, tag int) (b []byte, done func(), err error) {
	var m received
	err = r.call(ctx, func() error {
		m, err = r.receive(ctx, from, tag)
		return err
	})
	return m.b, func() {
		if m.buf.p != nil {
			r.e.give(m.buf)
			m.buf.p = nil
		}
	}, err
}

// take is like block, and give like release, for callers outside of a call.
func (e *Engine) take(n int) block {
	e.home.mu.Lock()
	defer e.home.mu.Unlock()
	return e.block(n)
}

func (e *Engine) give(b block) {
	e.home.mu.Lock()
	defer e.home.mu.Unlock()
	e.release(b)
}
