package blob

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"blobio/internal/par"
)

// crowdOf runs n items with so many workers behind a door, and returns the most that worked at once. Each item ends when step is received from.
func crowdOf(ctx context.Context, p *process, workers, n int, step chan struct{}) (most int64, err error) {
	var now, max atomic.Int64
	d := p.newDoor(ctx)
	err = par.Crew(ctx, workers, n, func(ctx context.Context, items iter.Seq[int]) error {
		leave, ok := d.enter(ctx)
		if !ok {
			return nil
		}
		defer leave()
		for range items {
			if k := now.Add(1); k > max.Load() {
				max.Store(k)
			}
			<-step
			now.Add(-1)
		}
		return nil
	})
	return max.Load(), err
}

// TestDoor: until a rank waits, work in the background has the workers that ranks leave idle; then all.
func TestDoor(t *testing.T) {
	for _, c := range []struct {
		name                 string
		workers, ranks, want int64
		flight, rush         bool
	}{
		{"not in the background", 4, 3, 4, false, false},
		{"idle", 4, 1, 3, true, false},
		{"none idle", 4, 9, 1, true, false},
		{"a rank waits", 4, 9, 4, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(&settings{Options: Options{Workers: int(c.workers)}}, int(c.ranks))
				ctx := t.Context()
				if c.flight {
					ctx = context.WithValue(ctx, flightKey{}, p.idle)
					p.leave()
				}
				step := make(chan struct{})
				var most int64
				var err error
				var wg sync.WaitGroup
				wg.Go(func() { most, err = crowdOf(ctx, p, int(c.workers), 20, step) })
				synctest.Wait() // all that may work wait for a step
				if c.rush {
					p.idle.rush()
					synctest.Wait()
				}
				close(step)
				wg.Wait()
				if most != c.want || err != nil {
					t.Errorf("%d workers at once, want %d; %v", most, c.want, err)
				}
			})
		})
	}
}

// TestDoorStopped: who waits at a door ends with its context.
func TestDoorStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(&settings{Options: Options{Workers: 3}}, 3)
		p.leave()
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), flightKey{}, p.idle))
		step := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := crowdOf(ctx, p, 3, 20, step); err == nil {
				t.Error("no error")
			}
		})
		synctest.Wait()
		cancel()
		step <- struct{}{} // of the one that works
		wg.Wait()
	})
}
