package convert

import (
	"context"
	"sync/atomic"

	"blobio/comm"
)

// ranks are the ranks that share the work of a conversion.
type ranks struct{ comm.Comm }

// root reports whether this is the rank that does the work of only one rank.
func (r ranks) root() bool { return r.Rank() == 0 }

// agree is comm.Agree. It does not communicate if there is only one rank.
func (r ranks) agree(ctx context.Context, err error) error {
	if r.Size() == 1 {
		return err
	}
	return comm.Agree(ctx, r.Comm, err)
}

// told returns root's bytes or root's error on every rank.
func (r ranks) told(ctx context.Context, b []byte, err error) ([]byte, error) {
	if err := r.agree(ctx, err); err != nil || r.Size() == 1 {
		return b, err
	}
	return r.Bcast(ctx, 0, b)
}

// progress counts the bytes of the output that this rank has written.
type progress struct {
	report      func(done, total int64) // may be nil
	done, total atomic.Int64
}

// add counts n more written bytes.
func (p *progress) add(n int64) {
	d := p.done.Add(n)
	if p.report != nil {
		p.report(d, p.total.Load())
	}
}
