package commtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"blobio/comm"
)

// typedCase tests one reduction of elements of type T.
func typedCase[T comm.Number](ctx context.Context, c comm.Comm, op comm.Op, v func(rank int) T) error {
	want := v(0)
	for r := 1; r < c.Size(); r++ {
		switch op {
		case comm.Sum:
			want += v(r)
		case comm.Max:
			want = max(want, v(r))
		default:
			want = min(want, v(r))
		}
	}
	got, err := comm.AllreduceOne(ctx, c, v(c.Rank()), op)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("result of Allreduce %v of %T: got %v, want %v", op, got, got, want)
	}
	return nil
}

func testTyped(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		return errors.Join(
			typedCase(ctx, c, comm.Sum, func(r int) int { return r - 3 }),
			typedCase(ctx, c, comm.Max, func(r int) int8 { return int8(-100 + r) }),
			typedCase(ctx, c, comm.Sum, func(r int) int8 { return 100 }), // wraps around in int8
			typedCase(ctx, c, comm.Min, func(r int) int16 { return int16(300 - r) }),
			typedCase(ctx, c, comm.Max, func(r int) int32 { return int32(-r) }),
			typedCase(ctx, c, comm.Min, func(r int) int64 { return int64(-r) << 40 }),
			typedCase(ctx, c, comm.Max, func(r int) uint8 { return uint8(250 - r) }),
			typedCase(ctx, c, comm.Min, func(r int) uint32 { return math.MaxUint32 - uint32(r) }),
			typedCase(ctx, c, comm.Max, func(r int) uint64 { return uint64(r%2) << 63 }),
			typedCase(ctx, c, comm.Min, func(r int) uint64 { return uint64(1+r%2) << 62 }),
			typedCase(ctx, c, comm.Sum, func(r int) float32 { return float32(r) / 4 }),
			typedCase(ctx, c, comm.Max, func(r int) float64 { return -float64(r) - 0.5 }),
			typedCase(ctx, c, comm.Min, func(r int) float64 { return float64(r) - 0.5 }),
		)
	})
}

// testFloatOrder: float64 sums are computed in rank order, on every rank and in every run.
func testFloatOrder(t *testing.T, run Runner) {
	v := func(r int) float64 { return math.Pow(-10, float64(r*5%16)) + 0.1 }
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		want := 0.0
		for r := range c.Size() {
			want += v(r)
		}
		for range 5 {
			got, err := comm.AllreduceOne(ctx, c, v(c.Rank()), comm.Sum)
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("sum %v, want %v", got, want)
			}
		}
		return nil
	})
}

// testLongReductions tests reductions of more elements than fit in one message.
func testLongReductions(t *testing.T, run Runner) {
	const n = 70_001
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		element := func(r, i int) int64 { return int64((i + 3*r) % 5 * (1 + i%7)) }
		for _, op := range []comm.Op{comm.Sum, comm.Max, comm.Min} {
			v, below, all := make([]int64, n), make([]int64, n), make([]int64, n)
			for i := range all {
				v[i], below[i], all[i] = element(c.Rank(), i), op.IdentityInt64(), op.IdentityInt64()
			}
			x := make([]int64, n)
			for r := range c.Size() {
				for i := range x {
					x[i] = element(r, i)
				}
				op.CombineInt64(all, x)
				if r < c.Rank() {
					op.CombineInt64(below, x)
				}
			}
			got, err := c.AllreduceInt64(ctx, v, op)
			if err != nil {
				return err
			}
			if i := differ(got, all); i >= 0 {
				return fmt.Errorf("AllreduceInt64 by %v: element %d is %d, want %d", op, i, got[i], all[i])
			}
			if got, err = c.ExscanInt64(ctx, v, op); err != nil {
				return err
			}
			if i := differ(got, below); i >= 0 {
				return fmt.Errorf("ExscanInt64 by %v: element %d is %d, want %d", op, i, got[i], below[i])
			}
		}
		return nil
	})
}

// differ returns the index of the first difference, or -1.
func differ(a, b []int64) int {
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return i
		}
	}
	return -1
}
