package versioned

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/comm"
)

// Versions in memory are read while they are dropped: what a reader gets is the version, or that there is none.
func TestReadWhileDropped(t *testing.T) {
	const n, steps = 4 * 512, 40
	var reads, misses atomic.Int64
	err := comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int64, Shape: []int64{n}, Chunk: 512, Keep: Retention{Last: 2}}, nil)
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		var bad error
		done := make(chan struct{})
		wg.Go(func() {
			got := make([]int64, n)
			for some := false; ; {
				select {
				case <-done:
					if some { // a reader that came too late for all drops still reads what is left
						return
					}
				default:
				}
				v := a.Versions()[0].Number
				err := GetAt(ctx, a, v, []int64{0}, []int64{n}, got)
				if errors.Is(err, ErrNoVersion) {
					misses.Add(1)
					continue
				}
				for i := range got {
					if err == nil && got[i] != v {
						err = fmt.Errorf("version %d: element %d is %d", v, i, got[i])
					}
				}
				if err != nil {
					bad = err
					return
				}
				reads.Add(1)
				some = true
			}
		})
		part := make([]int64, n/4)
		lo := int64(c.Rank()) * n / 4
		commit := func(v int64) error {
			for i := range part {
				part[i] = v
			}
			if err := Put(ctx, a, []int64{lo}, []int64{lo + n/4}, part); err != nil {
				return err
			}
			_, err := a.Inc(ctx, 1, "")
			return err
		}
		for v := int64(1); v <= steps; v++ {
			if err := commit(v); err != nil {
				return err
			}
		}
		close(done)
		wg.Wait()
		if bad != nil {
			return bad
		}
		return a.Close(ctx)
	})
	if err != nil || reads.Load() == 0 {
		t.Fatal(reads.Load(), err)
	}
	t.Logf("%d reads, %d of versions that went", reads.Load(), misses.Load())
}

// A commit in memory that fails on one rank: an error on all, no version, and the next one has all.
func TestIncFails(t *testing.T) {
	err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int64, Shape: []int64{3}, Chunk: 512}, nil)
		must(t, err)
		for v := int64(1); v <= 3; v++ {
			must(t, Put(ctx, a, []int64{int64(c.Rank())}, []int64{int64(c.Rank()) + 1}, []int64{v}))
			var own error
			if c.Rank() == 1 && v == 2 {
				own = ErrRange
			}
			n, err := a.inc(ctx, 1, "", own)
			if v == 2 {
				if !errors.Is(err, ErrRange) || a.Newest() != 1 {
					return fmt.Errorf("%d, %v: newest %d", n, err, a.Newest())
				}
				continue
			}
			must(t, err)
		}
		got := make([]int64, 3)
		if err := GetAt(ctx, a, 2, []int64{0}, []int64{3}, got); err != nil || a.Newest() != 2 || got[0] != 3 || got[1] != 3 || got[2] != 3 {
			return fmt.Errorf("%v, newest %d: %w", got, a.Newest(), err)
		}
		return a.Close(ctx)
	})
	must(t, err)
}
