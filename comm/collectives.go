package comm

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"fmt"
	"slices"
)

var _ Comm = (*member)(nil)

func nothing(*round) {}

func (m *member) Rank() int { return m.rank }
func (m *member) Size() int { return m.g.n }

// usage breaks the communication because of a bad argument. Otherwise the other ranks would wait
// forever.
func (m *member) usage(format string, args ...any) error {
	if err := m.g.w.broken(); err != nil {
		return err
	}
	err := &RankError{Rank: m.world, Err: fault.Usage("%s", fmt.Sprintf(format, args...))}
	return m.g.w.failErr(err)
}

func (m *member) checkRank(name string, rank int) error {
	if rank < 0 || rank >= m.g.n {
		return m.usage("%s %d, want 0 ... %d", name, rank, m.g.n-1)
	}
	return nil
}

func (m *member) Barrier(ctx context.Context) error {
	_, err := m.enter(ctx, signature{kind: kBarrier}, nothing, nothing)
	return err
}

func (m *member) Bcast(ctx context.Context, root int, buf []byte) ([]byte, error) {
	if err := m.checkRank("root", root); err != nil {
		return nil, err
	}
	if m.rank == root {
		buf = bytes.Clone(buf) // copied outside the lock; the caller may reuse its buffer after the call
	}
	r, err := m.enter(ctx, signature{kind: kBcast, root: root}, func(r *round) {
		if m.rank == root {
			r.parts = [][]byte{buf}
		}
	}, nothing)
	if err != nil {
		return nil, err
	}
	return r.parts[0], nil
}

func (m *member) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	if err := m.checkRank("root", root); err != nil {
		return nil, err
	}
	r, err := m.gather(ctx, signature{kind: kGather, root: root}, b)
	if err != nil || m.rank != root {
		return nil, err
	}
	return r.parts, nil
}

func (m *member) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	r, err := m.gather(ctx, signature{kind: kAllgather}, b)
	if err != nil {
		return nil, err
	}
	return r.parts, nil
}

func (m *member) gather(ctx context.Context, s signature, b []byte) (*round, error) {
	b = bytes.Clone(b)
	return m.enter(ctx, s, func(r *round) {
		if r.parts == nil {
			r.parts = make([][]byte, m.g.n)
		}
		r.parts[m.rank] = b
	}, nothing)
}

func (m *member) Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error) {
	if len(b) != 0 && len(b) != m.g.n {
		return nil, m.usage("Alltoallv has %d slices, want %d", len(b), m.g.n)
	}
	var row [][]byte
	if len(b) > 0 { // allocate one copy for all data from this rank
		size := 0
		for _, x := range b {
			size += len(x)
		}
		all := make([]byte, 0, size)
		row = make([][]byte, len(b))
		for i, x := range b {
			at := len(all)
			all = append(all, x...)
			row[i] = all[at:len(all):len(all)]
		}
	}
	r, err := m.enter(ctx, signature{kind: kAlltoallv}, func(r *round) {
		if r.rows == nil {
			r.rows = make([][][]byte, m.g.n)
		}
		r.rows[m.rank] = row
	}, nothing)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, m.g.n)
	for i, row := range r.rows {
		if row != nil {
			out[i] = row[m.rank]
		}
	}
	return out, nil
}

func (m *member) checkOp(op Op) error {
	if !op.Valid() {
		return m.usage("operation %v is not valid in a reduction", op)
	}
	return nil
}

func (m *member) AllreduceInt64(ctx context.Context, v []int64, op Op) ([]int64, error) {
	if err := m.checkOp(op); err != nil {
		return nil, err
	}
	r, err := m.enter(ctx, signature{kind: kAllreduce, op: op, elems: len(v)}, func(r *round) {
		if r.ints == nil {
			r.ints = slices.Repeat([]int64{op.IdentityInt64()}, len(v))
		}
		op.CombineInt64(r.ints, v) // the order does not matter, because all integer operations are commutative
	}, nothing)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.ints), nil
}

func (m *member) ExscanInt64(ctx context.Context, v []int64, op Op) ([]int64, error) {
	if err := m.checkOp(op); err != nil {
		return nil, err
	}
	n := len(v)
	r, err := m.enter(ctx, signature{kind: kExscan, op: op, elems: n}, func(r *round) {
		if r.ints == nil {
			r.ints = make([]int64, n*m.g.n)
		}
		copy(r.ints[m.rank*n:], v)
	}, func(r *round) {
		acc := slices.Repeat([]int64{op.IdentityInt64()}, n)
		for i := 0; i < len(r.ints); i += n {
			here := r.ints[i : i+n]
			for k, x := range here {
				here[k] = acc[k]
				acc[k] = x
			}
			// acc has the sum of the lower ranks and this rank, and here the sum of the lower ranks.
			op.CombineInt64(acc, here)
		}
	})
	if err != nil {
		return nil, err
	}
	return r.ints[m.rank*n : (m.rank+1)*n : (m.rank+1)*n], nil
}

func (m *member) Share(ctx context.Context, v any) ([]any, error) {
	r, err := m.enter(ctx, signature{kind: kShare}, func(r *round) {
		if r.vals == nil {
			r.vals = make([]any, m.g.n)
		}
		r.vals[m.rank] = v
	}, nothing)
	if err != nil {
		return nil, err
	}
	return r.vals, nil
}
