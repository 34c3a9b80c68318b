package versioned

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// A version that stays can be read while commits write what it needs of old files again, and take those away.
func TestReadWhileMoved(t *testing.T) {
	const chunks, per, steps = 40, 64, 60
	// Each chunk rests for 30 versions of 40, so that files would stay for the few that they still hold.
	last := func(v, k int64) float64 {
		for ; v > 0 && (v+k)%40 < 30; v-- {
		}
		return float64(v)
	}
	for _, way := range []struct {
		name    string
		files   bool
		isolate bool
	}{{"memory", false, false}, {"windows", false, true}, {"files", true, false}} {
		t.Run(way.name, func(t *testing.T) {
			var st *Store
			if way.files {
				st = &Store{Dir: "d", FS: vfs.NewMem()}
			}
			err := comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error {
				if way.isolate {
					c = comm.Isolate(c)
				}
				a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{chunks * per}, Chunk: 512, Keep: Retention{Last: 2}},
					&Options{MaxOpen: 2})
				must(t, err)
				var wg sync.WaitGroup
				var bad error
				done := make(chan struct{})
				wg.Go(func() {
					got := make([]float64, chunks*per)
					for n := 0; bad == nil; n++ {
						select {
						case <-done:
							return
						default:
						}
						all := a.Versions()
						v := all[n%len(all)].Number
						err := GetAt(ctx, a, v, []int64{0}, []int64{chunks * per}, got)
						if !slices.ContainsFunc(a.Versions(), func(x VersionInfo) bool { return x.Number == v }) {
							continue
						}
						for i, x := range got {
							if want := last(v, int64(i/per)); err == nil && x != want {
								err = fmt.Errorf("element %d is %v, want %v", i, x, want)
							}
						}
						if err != nil {
							bad = fmt.Errorf("version %d, which is there: %w", v, err)
						}
					}
				})
				for v := int64(1); v <= steps && err == nil; v++ {
					for k := int64(c.Rank()); k < chunks && err == nil; k += 2 {
						if last(v, k) == float64(v) {
							err = Put(ctx, a, []int64{k * per}, []int64{k*per + per}, slices.Repeat([]float64{float64(v)}, per))
						}
					}
					if err == nil {
						_, err = a.Inc(ctx, 1, "")
					}
				}
				close(done)
				wg.Wait()
				if err == nil {
					err = bad
				}
				must(t, err)
				must(t, c.Barrier(ctx))
				return a.Close(ctx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
