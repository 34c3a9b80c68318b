package comm

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Allreduce does the same as Comm.AllreduceInt64, for any number type. The result wraps around at the range of an integer type T.
// Floating-point elements are combined in double precision in rank order, so that every run has the same result.
func Allreduce[T Number](ctx context.Context, c Comm, v []T, op Op) ([]T, error) {
	if elem.IsFloat[T]() {
		return reduceFloat(ctx, c, v, op)
	}
	r, err := c.AllreduceInt64(ctx, toInt64(v, op), op)
	if err != nil {
		return nil, err
	}
	return fromInt64[T](r, op), nil
}

// AllreduceOne does an Allreduce of a single element.
func AllreduceOne[T Number](ctx context.Context, c Comm, v T, op Op) (T, error) {
	r, err := Allreduce(ctx, c, []T{v}, op)
	if err != nil {
		return 0, err
	}
	return r[0], nil
}

// flip returns the mask of an XOR that maps uint64 to int64 and keeps the order, for Max and Min. For other operations and types
// the mask is 0.
func flip[T Number](op Op) uint64 {
	if !elem.IsSigned[T]() && unsafe.Sizeof(T(0)) == 8 && (op == Max || op == Min) {
		return 1 << 63
	}
	return 0
}

func toInt64[T Number](v []T, op Op) []int64 {
	f := flip[T](op)
	r := make([]int64, len(v))
	for i, x := range v {
		r[i] = int64(uint64(x) ^ f)
	}
	return r
}

func fromInt64[T Number](v []int64, op Op) []T {
	f := flip[T](op)
	r := make([]T, len(v))
	for i, x := range v {
		r[i] = T(uint64(x) ^ f)
	}
	return r
}

// reduceFloat combines the elements on rank 0, in rank order, and sends the result to all ranks. Each rank sends op before its
// elements, so that rank 0 detects a mismatch.
func reduceFloat[T Number](ctx context.Context, c Comm, v []T, op Op) ([]T, error) {
	b := []byte{byte(op)}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(x)))
	}
	all, err := c.Gather(ctx, 0, b)
	if err != nil {
		return nil, err
	}
	var res []byte
	var bad error
	if c.Rank() == 0 {
		res, bad = combineRanks(all, len(v), op)
	}
	if err := Agree(ctx, c, bad); err != nil {
		return nil, err
	}
	if res, err = c.Bcast(ctx, 0, res); err != nil {
		return nil, err
	}
	out := make([]T, len(v))
	for i := range out {
		out[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(res[8*i:])))
	}
	return out, nil
}

func combineRanks(all [][]byte, n int, op Op) ([]byte, error) {
	if !op.Valid() {
		return nil, fault.Usage("operation %v is not valid for floating-point elements", op)
	}
	acc, one := slices.Repeat([]float64{op.identityFloat64()}, n), make([]float64, n)
	for rank, b := range all {
		if b[0] != all[0][0] {
			return nil, fmt.Errorf("%w: the reduction of rank %d differs from rank 0", ErrMismatch, rank)
		}
		b = b[1:]
		if len(b) != 8*n {
			return nil, fmt.Errorf("%w: rank 0 has %d elements, but rank %d has %d", ErrMismatch, n, rank, len(b)/8)
		}
		for i := range one {
			one[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		combine(op, acc, one)
	}
	var res []byte
	for _, x := range acc {
		res = binary.LittleEndian.AppendUint64(res, math.Float64bits(x))
	}
	return res, nil
}
