package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/elem"
)

// shared is the memory of one rank, of which another one changes some just before it is swapped.
type shared struct {
	comm.Window
	word  [8]byte
	other []int // bytes that the other one counts up, one before each swap
}

func (s *shared) Get(_ context.Context, _ int, _ int64, b []byte) error {
	copy(b, s.word[:])
	return nil
}

func (s *shared) CompareAndSwapInt64(_ context.Context, _ int, _, old, v int64) (int64, error) {
	if len(s.other) > 0 {
		s.word[s.other[0]]++
		s.other = s.other[1:]
	}
	was := elem.View[int64](s.word[:])[0]
	if was == old {
		copy(s.word[:], Bytes([]int64{v}))
	}
	return was, nil
}

// TestUpdateOfSharedWord: an update of a small element is of that element alone, and is done, whichever other byte of the word changes meanwhile.
func TestUpdateOfSharedWord(t *testing.T) {
	for in := range int64(8) {
		for other := range 8 {
			s := &shared{word: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, other: []int{other, other}}
			want := s.word
			want[in] += 100
			want[other] += 2
			old, err := update(bg, s, 0, in, 1, func(x uint8) uint8 { return x + 100 })
			if err != nil || s.word != want || old != want[in]-100 {
				t.Errorf("byte %d, while byte %d changes: %v, was %d, %v; want %v", in, other, s.word, old, err, want)
			}
		}
	}
}

// TestTypesAreCompared: elements of another type are refused, also those of the same size.
func TestTypesAreCompared(t *testing.T) {
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{4}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		at, end, x := []int64{0}, []int64{1}, []int64{7}
		_, get := GetAccumulate(ctx, a, at, x[0], comm.Sum)
		_, swap := CompareAndSwap(ctx, a, at, 0, x[0])
		for i, err := range []error{Put(ctx, a, at, end, x), Get(ctx, a, at, end, x), GetAt(ctx, a, 0, at, end, x), Accumulate(ctx, a, at, end, x, comm.Sum), get, swap} {
			if !errors.Is(err, ErrUsage) {
				return fmt.Errorf("access %d: %w", i, err)
			}
		}
		got := make([]float64, 1)
		if err := Get(ctx, a, at, end, got); err != nil || got[0] != 0 {
			return fmt.Errorf("%v, %w", got, err)
		}
		return a.Close(ctx)
	})
}

// TestReadOfDropped: a read during which the version was dropped gives no data, though there was something to be read.
func TestReadOfDropped(t *testing.T) {
	for _, direct := range []bool{false, true} {
		_, st := memStore(t)
		if direct {
			st = nil
		}
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{64}, Chunk: 512}, nil)
			if err != nil {
				return err
			}
			for v := range 3 {
				if err := Put(ctx, a, []int64{0}, []int64{64}, slices.Repeat([]float64{float64(v + 1)}, 64)); err != nil {
					return err
				}
				if _, err := a.Inc(ctx, 1, ""); err != nil {
					return err
				}
			}
			rec, got := a.cat.record(), make([]float64, 64) // the reader has begun
			if err := a.Drop(ctx, 2); err != nil {
				return err
			}
			if err := a.cat.get(ctx, rec, 2, []int64{0}, []int64{64}, Bytes(got), false); !errors.Is(err, ErrNoVersion) {
				return fmt.Errorf("direct %v: %v, %v", direct, got[:2], err)
			}
			if err := a.cat.get(ctx, rec, 1, []int64{0}, []int64{64}, Bytes(got), false); err != nil || got[63] != 1 {
				return fmt.Errorf("direct %v: the one before: %v, %w", direct, got[:2], err)
			}
			return a.Close(ctx)
		})
	}
}
