package versioned

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/comm"
	"blobio/internal/elem"
)

// V5: each operation on each type, by Accumulate and by GetAccumulate, against the arithmetic of Go; what wraps around, NaN and zeros of
// both signs among it. Elements beside it in the same word stay.
func TestAccumulateTypes(t *testing.T) {
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		for _, err := range []error{
			opsOf(ctx, c, math.MinInt8, -1, 0, 1, int8(math.MaxInt8)), opsOf(ctx, c, math.MinInt16, -1, 0, 2, int16(math.MaxInt16)),
			opsOf(ctx, c, math.MinInt32, -1, 0, 3, int32(math.MaxInt32)), opsOf(ctx, c, math.MinInt64, -1, 0, 1<<53+1, int64(math.MaxInt64)),
			opsOf(ctx, c, 0, 1, 0x80, uint8(math.MaxUint8)), opsOf(ctx, c, 0, 1, 0x8000, uint16(math.MaxUint16)),
			opsOf(ctx, c, 0, 1, 1<<31, uint32(math.MaxUint32)), opsOf(ctx, c, 0, 1, 1<<53+1, 1<<63, uint64(math.MaxUint64)),
			opsOf(ctx, c, 0, float32(math.Copysign(0, -1)), 1.5, -3, float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32),
			opsOf(ctx, c, 0, math.Copysign(0, -1), 1.5, -3, math.Inf(-1), math.NaN(), math.MaxFloat64)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func opsOf[T comm.Number](ctx context.Context, c comm.Comm, values ...T) error {
	const n = 17
	a, err := Create(ctx, c, nil, Spec{Name: "a", Type: typeOf[T](), Shape: []int64{n}, Chunk: 512}, nil)
	if err != nil {
		return err
	}
	ops := []comm.Op{comm.Sum, comm.Prod, comm.Max, comm.Min, comm.Replace}
	if a.spec.Type < Float32 {
		ops = append(ops, comm.BAnd, comm.BOr, comm.BXor)
	}
	now, got := make([]T, n), make([]T, n)
	for at := range int64(n) {
		for _, op := range ops {
			for _, x := range values {
				for _, y := range values {
					for i := range now {
						now[i] = values[(i+len(values)/2)%len(values)]
					}
					now[at] = x
					want := slices.Clone(now)
					switch op {
					case comm.Sum:
						want[at] = x + y
					case comm.Prod:
						want[at] = x * y
					case comm.Max:
						want[at] = max(x, y)
					case comm.Min:
						want[at] = min(x, y)
					case comm.Replace:
						want[at] = y
					default:
						u, v := wide(x), wide(y)
						want[at] = narrow[T](map[comm.Op]uint64{comm.BAnd: u & v, comm.BOr: u | v, comm.BXor: u ^ v}[op])
					}
					for _, way := range []string{"Accumulate", "GetAccumulate"} {
						if err := Put(ctx, a, []int64{0}, []int64{n}, now); err != nil {
							return err
						}
						old := x
						if way == "Accumulate" {
							err = Accumulate(ctx, a, []int64{at}, []int64{at + 1}, []T{y}, op)
						} else {
							old, err = GetAccumulate(ctx, a, []int64{at}, y, op)
						}
						if err != nil {
							return err
						}
						if err := Get(ctx, a, []int64{0}, []int64{n}, got); err != nil {
							return err
						}
						if !alike(got, want) || !alike([]T{old}, []T{x}) {
							return fmt.Errorf("%v: %s of %v and %v by %v at %d: %v, was %v; want %v", a.spec.Type, way, x, y, op, at, got, old, want)
						}
					}
				}
			}
		}
	}
	return a.Close(ctx)
}

// alike compares bits, but for those of NaNs, which arithmetic may choose.
func alike[T comm.Number](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool {
		return x != x && y != y || bytes.Equal(Bytes([]T{x}), Bytes([]T{y}))
	})
}

func wide[T comm.Number](x T) uint64 {
	var b [8]byte
	copy(b[:], Bytes([]T{x}))
	return elem.View[uint64](b[:])[0]
}

func narrow[T comm.Number](u uint64) T {
	return elem.View[T](Bytes([]uint64{u}))[0]
}

// V5: ranks accumulate at once into small elements that share words, put to others beside them, and swap; nothing is lost.
func TestAccumulateBesideOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, size = 24, 4
		type access struct {
			At, By uint8
			Way    int
		}
		per := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) access {
			return access{rapid.Uint8Range(0, n-1).Draw(t, "at"), rapid.Uint8().Draw(t, "by"), rapid.IntRange(0, 2).Draw(t, "way")}
		}), 0, 20), size, size).Draw(t, "accesses")
		want := make([]uint8, n)
		for i := range want {
			if i%4 == 3 {
				want[i] = uint8(i) // rank i%size puts it
			}
		}
		for _, list := range per {
			for _, x := range list {
				if x.At%4 != 3 {
					want[x.At] += x.By
				}
			}
		}
		err := comm.Run(bg, size, nil, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Uint8, Shape: []int64{n}, Chunk: 512}, nil)
			if err != nil {
				return err
			}
			for _, x := range per[c.Rank()] {
				at := []int64{int64(x.At)}
				switch {
				case x.At%4 == 3:
					if int(x.At)%size == c.Rank() {
						err = Put(ctx, a, at, []int64{at[0] + 1}, []uint8{x.By})
					}
				case x.Way == 0:
					err = Accumulate(ctx, a, at, []int64{at[0] + 1}, []uint8{x.By}, comm.Sum)
				case x.Way == 1:
					_, err = GetAccumulate(ctx, a, at, x.By, comm.Sum)
				default:
					for was, old := uint8(0), uint8(1); err == nil && was != old; {
						old = was
						was, err = CompareAndSwap(ctx, a, at, old, old+x.By)
					}
				}
				if err != nil {
					return err
				}
			}
			for i := c.Rank(); i < n; i += size {
				if i%4 == 3 {
					if err := Put(ctx, a, []int64{int64(i)}, []int64{int64(i) + 1}, []uint8{uint8(i)}); err != nil {
						return err
					}
				}
			}
			if err := a.Fence(ctx); err != nil {
				return err
			}
			got := make([]uint8, n)
			if err := Get(ctx, a, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("%v, %v; want %v", got, err, want)
			}
			return a.Close(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
