package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"blobio/comm"
)

var bg = context.Background()

// ranks runs f on n ranks, two on a node.
func ranks(t *testing.T, n int, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	if err := comm.Run(bg, n, &comm.Options{RanksPerNode: 2}, f); err != nil {
		t.Fatal(err)
	}
}

func seq(lo, n int, f float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f * float64(lo+i)
	}
	return out
}

// V1, V2: allocation, put and get of any range from any rank.
func TestPutGet(t *testing.T) {
	ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{1000}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		b, err := Create(ctx, c, nil, Spec{Name: "b", Type: Float64, Shape: []int64{1000}}, nil)
		if err != nil {
			return err
		}
		if a.Len() != 1000 || a.Newest() != 0 {
			return fmt.Errorf("%d elements, version %d", a.Len(), a.Newest())
		}
		if c.Rank() == 2 {
			if err := Put(ctx, a, []int64{250}, []int64{500}, seq(250, 250, 1)); err != nil {
				return err
			}
			if err := Put(ctx, a, []int64{990}, []int64{1001}, make([]float64, 11)); !errors.Is(err, ErrRange) {
				return fmt.Errorf("out of range: %w", err)
			}
			if err := Put(ctx, a, []int64{0}, []int64{3}, make([]float64, 2)); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("short buffer: %w", err)
			}
			if err := Put(ctx, a, []int64{0}, []int64{2}, make([]float32, 2)); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("other type: %w", err)
			}
		}
		if err := a.Fence(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			got := make([]float64, 20)
			if err := Get(ctx, a, []int64{240}, []int64{260}, got); err != nil {
				return err
			}
			if want := append(make([]float64, 10), seq(250, 10, 1)...); !slices.Equal(got, want) {
				return fmt.Errorf("%v", got)
			}
			all := make([]float64, 1000)
			if err := Get(ctx, b, []int64{0}, []int64{1000}, all); err != nil || !slices.Equal(all, make([]float64, 1000)) {
				return fmt.Errorf("the other array: %v", err)
			}
			one := []float64{-1}
			if err := Get(ctx, a, []int64{499}, []int64{500}, one); err != nil || one[0] != 499 { // V3
				return fmt.Errorf("%v %v", one, err)
			}
		}
		return errors.Join(a.Close(ctx), b.Close(ctx))
	})
}

// V5: accumulate, of every type that needs its own way.
func TestAccumulate(t *testing.T) {
	ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
		return errors.Join(accumulate[float64](ctx, c), accumulate[float32](ctx, c), accumulate[int64](ctx, c),
			accumulate[int32](ctx, c), accumulate[int16](ctx, c), accumulate[uint64](ctx, c))
	})
}

// contended is a window in which others always come between the reading and the swapping of a word.
type contended struct{ comm.Window }

func (w contended) Get(ctx context.Context, rank int, off int64, b []byte) error {
	err := w.Window.Get(ctx, rank, off, b)
	time.Sleep(200 * time.Microsecond)
	return err
}

func accumulate[T comm.Number](ctx context.Context, c comm.Comm) error {
	four := c.Size()
	a, err := Create(ctx, c, nil, Spec{Name: "a", Type: typeOf[T](), Shape: []int64{33}, Chunk: 512}, nil)
	if err != nil {
		return err
	}
	for range 100 {
		if err := Accumulate(ctx, a, []int64{7}, []int64{9}, []T{1, 2}, comm.Sum); err != nil {
			return err
		}
	}
	win := a.state.win
	a.state.win = contended{win}
	for range 5 {
		if err := Accumulate(ctx, a, []int64{12}, []int64{13}, []T{1}, comm.Sum); err != nil {
			return err
		}
		if _, err := GetAccumulate(ctx, a, []int64{13}, T(1), comm.Sum); err != nil {
			return err
		}
	}
	a.state.win = win
	if err := a.Fence(ctx); err != nil {
		return err
	}
	got := make([]T, 4)
	if err := Get(ctx, a, []int64{6}, []int64{10}, got); err != nil || !slices.Equal(got, []T{0, T(four * 100), T(four * 200), 0}) {
		return fmt.Errorf("%v: %v, %v", a.spec.Type, got, err)
	}
	if err := Get(ctx, a, []int64{11}, []int64{15}, got); err != nil || !slices.Equal(got, []T{0, T(four * 5), T(four * 5), 0}) {
		return fmt.Errorf("%v: %v, %v, where all accumulate at once", a.spec.Type, got, err)
	}
	if err := a.Fence(ctx); err != nil {
		return err
	}
	// Each rank gets another number.
	old, err := GetAccumulate(ctx, a, []int64{0}, T(1), comm.Sum)
	if err != nil {
		return err
	}
	all, err := comm.Allreduce(ctx, c, []int64{1 << int64(old)}, comm.BOr)
	if err != nil || all[0] != 15 {
		return fmt.Errorf("%v: tickets %b, %v", a.spec.Type, all, err)
	}
	// One of them wins.
	was, err := CompareAndSwap(ctx, a, []int64{1}, 0, T(c.Rank()+1))
	if err != nil {
		return err
	}
	won, err := comm.AllreduceOne(ctx, c, btoi(was == 0), comm.Sum)
	if err != nil || won != 1 {
		return fmt.Errorf("%v: %d won, %v", a.spec.Type, won, err)
	}
	if err := Accumulate(ctx, a, []int64{0}, []int64{1}, []T{1}, comm.LAnd); !errors.Is(err, ErrUsage) {
		return fmt.Errorf("LAnd: %w", err)
	}
	return a.Close(ctx)
}

// V6, V7, V9, V10: versions, labels, cursors; old ones do not change.
func TestVersions(t *testing.T) {
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int32, Shape: []int64{300}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		fill := func(v int32) error {
			if c.Rank() == 1 {
				if err := Put(ctx, a, []int64{0}, []int64{300}, slices.Repeat([]int32{v}, 300)); err != nil {
					return err
				}
			}
			return nil
		}
		if err := fill(11); err != nil {
			return err
		}
		if n, err := a.Inc(ctx, 1, ""); n != 1 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		if err := fill(66); err != nil {
			return err
		}
		if n, err := a.Inc(ctx, 5, "pre-regrid"); n != 6 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		if err := fill(99); err != nil {
			return err
		}
		if err := a.Fence(ctx); err != nil {
			return err
		}
		v := a.Versions()
		if len(v) != 3 || v[0].Number != 0 || v[1].Number != 1 || v[2].Number != 6 || v[2].Label != "pre-regrid" {
			return fmt.Errorf("%+v", v)
		}
		got := make([]int32, 2)
		for number, want := range map[int64]int32{0: 0, 1: 11, 6: 66} {
			if err := GetAt(ctx, a, number, []int64{149}, []int64{151}, got); err != nil || got[0] != want || got[1] != want {
				return fmt.Errorf("version %d: %v, %v", number, got, err)
			}
		}
		if err := GetAt(ctx, a, 3, []int64{0}, []int64{2}, got); !errors.Is(err, ErrNoVersion) {
			return fmt.Errorf("version 3: %w", err)
		}
		if _, err := a.Inc(ctx, 0, ""); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("step 0: %w", err)
		}
		cur := a.Cursor()
		other := cur
		if err := cur.PutBytes(ctx, nil, nil, nil); !errors.Is(err, ErrReadOnly) {
			return err
		}
		if err := cur.Dec(2); err != nil || cur.Number() != 0 {
			return fmt.Errorf("%d, %v", cur.Number(), err)
		}
		if err := cur.Prev(); !errors.Is(err, ErrNoVersion) || cur.Number() != 0 {
			return fmt.Errorf("%d, %v", cur.Number(), err)
		}
		if err := cur.Next(); err != nil || cur.Number() != 1 || other.Number() != 6 {
			return fmt.Errorf("%d, %v", cur.Number(), err)
		}
		if err := cur.GetBytes(ctx, []int64{0}, []int64{2}, Bytes(got)); err != nil || got[0] != 11 {
			return fmt.Errorf("%v, %v", got, err)
		}
		if err := a.Drop(ctx, 0); err != nil {
			return err
		}
		for n, want := range []int64{1, 1} { // the oldest one there is, now
			if err := cur.Prev(); !errors.Is(err, ErrNoVersion) || cur.Number() != want {
				return fmt.Errorf("before the oldest, time %d: %d, %v", n, cur.Number(), err)
			}
		}
		// Back to version 1, and on from there.
		if err := a.Restore(ctx, 1); err != nil {
			return err
		}
		if err := Get(ctx, a, []int64{298}, []int64{300}, got); err != nil || got[1] != 11 {
			return fmt.Errorf("restored %v, %v", got, err)
		}
		if n, err := a.Inc(ctx, 1, ""); n != 7 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		if err := GetAt(ctx, a, 7, []int64{0}, []int64{2}, got); err != nil || got[0] != 11 {
			return fmt.Errorf("%v, %v", got, err)
		}
		return a.Close(ctx)
	})
}

// V15: a version costs what changed.
func TestCostOfChange(t *testing.T) {
	for _, o := range []*Options{nil, {Codec: Zstd}, {Key: []byte("0123456789abcdef")}, {Form: Flat}} {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{100 * 64}, Chunk: 512}, o)
			if err != nil {
				return err
			}
			first, second := seq(0, 6400, 1), seq(0, 6400, 1)
			second[64*17+3] = -1
			for _, s := range [][]float64{first, second} {
				if c.Rank() == 0 {
					if err := Put(ctx, a, []int64{0}, []int64{6400}, s); err != nil {
						return err
					}
				}
				if _, err := a.Inc(ctx, 1, ""); err != nil {
					return err
				}
			}
			v := a.Versions()
			changed := v[2].Changed
			if o != nil && o.Form == Flat {
				changed -= 99 * 512
			}
			if changed != 512 || v[1].Changed != 51200 || (o == nil || o.Form == Log) && v[2].Written > 512+2048 {
				return fmt.Errorf("%+v: %+v", o, v)
			}
			got := make([]float64, 6400)
			for i, s := range [][]float64{first, second} {
				if err := GetAt(ctx, a, int64(i+1), []int64{0}, []int64{6400}, got); err != nil || !slices.Equal(got, s) {
					return fmt.Errorf("version %d: %v", i+1, err)
				}
			}
			return a.Close(ctx)
		})
	}
}
