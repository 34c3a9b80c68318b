package comm

import (
	"context"
	"encoding/binary"
	"math"
	"unsafe"
)

// Number is an element of the typed helpers.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Allreduce is Comm.AllreduceInt64 for any number. Integers wrap around as T does.
// Floating-point elements are combined in double precision in the order of the ranks, so
// that the result does not change from run to run; ops Sum, Prod, Max, Min.
func Allreduce[T Number](ctx context.Context, c Comm, v []T, op Op) ([]T, error) {
	if isFloat[T]() {
		return reduceFloat(ctx, c, v, op, false)
	}
	r, err := c.AllreduceInt64(ctx, toInt64(v, op), op)
	if err != nil {
		return nil, err
	}
	return fromInt64[T](r, op), nil
}

// Exscan is Comm.ExscanInt64 for any number, as Allreduce is; rank 0 gets the
// identity of op in T (Max: the smallest T).
func Exscan[T Number](ctx context.Context, c Comm, v []T, op Op) ([]T, error) {
	if isFloat[T]() {
		return reduceFloat(ctx, c, v, op, true)
	}
	r, err := c.ExscanInt64(ctx, toInt64(v, op), op)
	if err != nil {
		return nil, err
	}
	if c.Rank() == 0 {
		out := make([]T, len(v))
		for i := range out {
			out[i] = identity[T](op)
		}
		return out, nil
	}
	return fromInt64[T](r, op), nil
}

// AllreduceOne is Allreduce of one element.
func AllreduceOne[T Number](ctx context.Context, c Comm, v T, op Op) (T, error) {
	r, err := Allreduce(ctx, c, []T{v}, op)
	if err != nil {
		return 0, err
	}
	return r[0], nil
}

// ExscanOne is Exscan of one element.
func ExscanOne[T Number](ctx context.Context, c Comm, v T, op Op) (T, error) {
	r, err := Exscan(ctx, c, []T{v}, op)
	if err != nil {
		return 0, err
	}
	return r[0], nil
}

func isFloat[T Number]() bool {
	one := T(1)
	return one/2 != 0
}

func isSigned[T Number]() bool {
	zero := T(0)
	return zero-1 < zero
}

// flip maps uint64 to int64 in order, for Max and Min; other ops and types need no mapping.
func flip[T Number](op Op) uint64 {
	if !isSigned[T]() && unsafe.Sizeof(T(0)) == 8 && (op == Max || op == Min) {
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

// identity is the identity of op in the integer type T.
func identity[T Number](op Op) T {
	bits := 8 * unsafe.Sizeof(T(0))
	switch {
	case op == Max && isSigned[T]():
		return T(int64(-1) << (bits - 1))
	case op == Max:
		return 0
	case op == Min && isSigned[T]():
		return T(int64(math.MaxInt64) >> (64 - bits))
	case op == Min:
		return T(uint64(math.MaxUint64) >> (64 - bits))
	}
	return T(op.IdentityInt64())
}

// floatHeader is what precedes the elements that a rank gives: the op and whether it is a
// scan, so that ranks that differ are found out.
const floatHeader = 2

// reduceFloat combines on rank 0 and tells all: one result, or with prefix one for each rank.
func reduceFloat[T Number](ctx context.Context, c Comm, v []T, op Op, prefix bool) ([]T, error) {
	n := len(v)
	b := make([]byte, 0, floatHeader+8*n)
	b = append(b, byte(op), byte(truth(prefix)))
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
		res, bad = combineRanks(all, n, op, prefix)
	}
	if err := Agree(ctx, c, bad); err != nil {
		return nil, err
	}
	if res, err = c.Bcast(ctx, 0, res); err != nil {
		return nil, err
	}
	if prefix {
		res = res[8*n*c.Rank():]
	}
	out := make([]T, n)
	for i := range out {
		out[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(res[8*i:])))
	}
	return out, nil
}

func combineRanks(all [][]byte, n int, op Op, prefix bool) ([]byte, error) {
	if !op.float() || op == Replace {
		return nil, pkg.Errorf("%w: %v on floating-point elements", ErrUsage, op)
	}
	acc, one := make([]float64, n), make([]float64, n)
	for i := range acc {
		acc[i] = op.identityFloat64()
	}
	var res []byte
	tell := func() {
		for _, x := range acc {
			res = binary.LittleEndian.AppendUint64(res, math.Float64bits(x))
		}
	}
	for rank, b := range all {
		if string(b[:floatHeader]) != string(all[0][:floatHeader]) {
			return nil, pkg.Errorf("%w: rank %d does another reduction than rank 0", ErrMismatch, rank)
		}
		b = b[floatHeader:]
		if len(b) != 8*n {
			return nil, pkg.Errorf("%w: rank 0 has %d elements, rank %d has %d", ErrMismatch, n, rank, len(b)/8)
		}
		if prefix {
			tell()
		}
		for i := range one {
			one[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		op.combineFloat64(acc, one)
	}
	if !prefix {
		tell()
	}
	return res, nil
}
