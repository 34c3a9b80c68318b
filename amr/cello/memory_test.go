package cello

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/base/crashtest"
	"blobio/internal/comm/commtest"
)

// peakHeap returns the maximum heap size while f runs, above the initial size. It collects garbage continuously, so that it
// measures live memory. Garbage does not count, because its amount depends on the application's GOGC.
func peakHeap(f func()) int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := read(), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.GC()
			most = max(most, read())
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most - before
}

// plansOf returns how much memory the plans and trees of all ranks need when the ranks have separate heaps. It writes blocks with
// hardly any data. TestMemory must not count the plans of all ranks against one writer, because in separate processes each rank
// has its own plan.
func plansOf(t *testing.T, n, ranks int) int64 {
	m, local := uniform(t, n, ranks, 2, 1)
	dir := filepath.Join(t.TempDir(), "c")
	return peakHeap(func() {
		if err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			return Write(ctx, commtest.Isolate(c), dir, m, local[c.Rank()], &Options{Files: 1, NoSync: true})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMemory: besides the data, Write needs at most 64 MiB per writer, whether the ranks share a heap or exchange all blocks by
// messages. Restart has the same limit for each reading rank.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 125 MiB, twice")
	}
	const limit = int64(64 << 20) // per writer
	n, ranks := 10, 8             // 1000 blocks of 128 KiB: 125 MiB
	if os.Getenv("BLOBIO_LONG") != "" {
		n, ranks = 20, 16 // 1000 MiB
	}
	ctx := context.Background()
	others := plansOf(t, n, ranks) * int64(ranks-1) / int64(ranks)
	t.Logf("plans of the other ranks: %d MiB", others>>20)
	m, local := uniform(t, n, ranks, 16, 8)
	data := int64(n*n*n) * 8 * 4 * 16 * 16 * 16
	run := func(apart bool, f func(ctx context.Context, c comm.Comm) error) {
		if err := comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
			if apart {
				c = commtest.Isolate(c)
			}
			return f(ctx, c)
		}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "c")
	for _, writers := range crashtest.Some(t, 1, []int{1, 2}) {
		for _, apart := range []bool{false, true} {
			// Memory that is allocated during a collection counts as live. Take the minimum of a few runs to reduce this error.
			peak, most := int64(math.MaxInt64), int64(writers)*limit
			if apart {
				most += others
			}
			for try := 0; try < 3 && peak > most; try++ {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				peak = min(peak, peakHeap(func() {
					run(apart, func(ctx context.Context, c comm.Comm) error {
						return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: writers, NoSync: true})
					})
				}))
			}
			what := fmt.Sprintf("write by %d of %d ranks, apart=%v: %d MiB beside the %d of the data", writers, ranks, apart, peak>>20, data>>20)
			if t.Log(what); peak > most {
				t.Errorf("%s, want at most %d", what, most>>20)
			}
		}
	}
	local = nil
	for _, apart := range []bool{false, true} {
		peak, most := int64(math.MaxInt64), limit+data/8 // one eighth for garbage and for other data of a block, mainly its adapt_buffer
		for try := 0; try < 3 && peak > most; try++ {    // as above
			var mu sync.Mutex
			var keep []*amr.Block
			peak = min(peak, peakHeap(func() {
				run(apart, func(ctx context.Context, c comm.Comm) error {
					return Restart(ctx, c, dir, &keeper{&mu, &keep}, nil)
				})
			})-data)
			if len(keep) != n*n*n {
				t.Fatalf("%d blocks", len(keep))
			}
		}
		what := fmt.Sprintf("restart on %d ranks, apart=%v: %d MiB beside the %d of the data", ranks, apart, peak>>20, data>>20)
		if t.Log(what); peak > most {
			t.Errorf("%s, want at most %d", what, most>>20)
		}
	}
}

// keeper is an application that keeps its blocks.
type keeper struct {
	mu   *sync.Mutex
	keep *[]*amr.Block
}

func (k *keeper) Create(context.Context, int, []BlockInfo) error { return nil }
func (k *keeper) Data(_ context.Context, b *amr.Block) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	*k.keep = append(*k.keep, b)
	return nil
}
func (k *keeper) LevelDone(context.Context, int, int, int) error { return nil }
