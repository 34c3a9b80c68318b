package par_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"blobio/internal/base/par"
)

// forms are Do, Each, Crew and Ordered with one signature: f is called for each item.
var forms = map[string]func(workers, n int, f func(i int)){
	"Do": par.Do,
	"Each": func(workers, n int, f func(i int)) {
		_ = par.Each(context.Background(), workers, n, func(_ context.Context, i int) error { f(i); return nil })
	},
	"Crew": func(workers, n int, f func(i int)) {
		_ = par.Crew(context.Background(), workers, n, func(_ context.Context, items iter.Seq[int]) error {
			for i := range items {
				f(i)
			}
			return nil
		})
	},
	"Ordered": func(workers, n int, f func(i int)) {
		for range par.Ordered(context.Background(), workers, n, func(_ context.Context, i int) int { f(i); return i }) {
		}
	},
}

// each runs a test with all forms.
func each(t *testing.T, f func(t *testing.T, run func(workers, n int, f func(i int)))) {
	for name, run := range forms {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, run) }) })
	}
}

// TestBound: every item runs once, in order, with at most the given number of workers.
func TestBound(t *testing.T) {
	each(t, func(t *testing.T, run func(workers, n int, f func(i int))) {
		for _, c := range [][2]int{{1, 5}, {3, 10}, {10, 3}, {2, 0}, {0, 2}, {-1, 2}} {
			workers, n := c[0], c[1]
			var mu sync.Mutex
			var begun []int
			gate := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				run(workers, n, func(i int) {
					mu.Lock()
					begun = append(begun, i)
					mu.Unlock()
					<-gate
				})
			}()
			most := max(min(workers, n), 1)
			for k := range n {
				synctest.Wait()
				if want := min(k+most, n); len(begun) != want {
					t.Fatalf("%d workers, %d items: %d begun after %d, want %d", workers, n, len(begun), k, want)
				}
				gate <- struct{}{}
			}
			<-done
			slices.Sort(begun)
			for i := range n {
				if len(begun) != n || begun[i] != i {
					t.Fatalf("%d workers, %d items: done %v", workers, n, begun)
				}
			}
		}
	})
}

// TestFirstErrorByNumber: item 2 fails after item 4, while item 3 is running, and item 5 never begins.
func TestFirstErrorByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began [10]bool
		second, third, fourth := make(chan struct{}), make(chan struct{}), make(chan struct{})
		bad2, bad4 := errors.New("item 2"), errors.New("item 4")
		var cause5 error
		res := make(chan error)
		go func() {
			res <- par.Each(t.Context(), 5, len(began), func(ctx context.Context, i int) error {
				began[i] = true
				switch i {
				case 2:
					<-second
					if ctx.Err() != nil {
						t.Error("the failure of item 4 cancels item 2")
					}
					return bad2
				case 4:
					<-fourth
					return bad4
				case 5:
					<-ctx.Done() // item 4 fails meanwhile
					cause5 = context.Cause(ctx)
					<-third
					return ctx.Err()
				case 0, 1, 3:
					if i == 0 {
						return nil // this worker would take item 5
					}
					<-second
				}
				return nil
			})
		}()
		synctest.Wait()
		close(fourth)
		synctest.Wait()
		close(second)
		synctest.Wait()
		close(third)
		if err := <-res; err != bad2 || cause5 != bad4 {
			t.Errorf("%v, item 5 ends by %v", err, cause5)
		}
		for i, b := range began {
			if b != (i < 6) {
				t.Errorf("item %d began: %v", i, b)
			}
		}
	})
}

func TestContext(t *testing.T) {
	why := errors.New("why")
	for _, workers := range []int{1, 4} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var n atomic.Int32
		err := par.Each(ctx, workers, 100, func(ctx context.Context, i int) error {
			n.Add(1)
			cancel(why)
			return nil
		})
		if err != why || int(n.Load()) > workers {
			t.Errorf("%d workers: %d items began, %v", workers, n.Load(), err)
		}
		if err := par.Each(ctx, workers, 0, nil); err != why {
			t.Errorf("no items: %v", err)
		}
		for i := range par.Ordered(ctx, workers, 3, func(context.Context, int) int { return 0 }) {
			t.Errorf("item %d after the end", i)
		}
	}
}

// caught returns the panic value of f. gone means that f called runtime.Goexit.
func caught(f func()) (v any, gone bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		gone = true
		defer func() {
			if v = recover(); v != nil {
				gone = false
			}
		}()
		f()
		gone = false
	}()
	<-done
	return v, gone
}

// TestPanic: a panic reaches the caller with its own stack, after all running items have ended.
func TestPanic(t *testing.T) {
	each(t, func(t *testing.T, run func(workers, n int, f func(i int))) {
		var under atomic.Int32
		v, _ := caught(func() {
			run(3, 20, func(i int) {
				under.Add(1)
				defer under.Add(-1)
				if i == 1 {
					thrown(fmt.Errorf("item %d", i))
				}
			})
		})
		p, ok := v.(*par.Panic)
		if !ok || p.Value.(error).Error() != "item 1" || !strings.Contains(p.Error(), "par_test.thrown") || errors.Unwrap(p) != p.Value {
			t.Errorf("%v", v)
		}
		if under.Load() != 0 {
			t.Error("items are still under way")
		}
		if v, _ := caught(func() { run(1, 2, func(i int) { panic(i) }) }); v != 0 {
			t.Errorf("one worker: %v", v)
		}
		if _, gone := caught(func() { run(2, 4, func(i int) { runtime.Goexit() }) }); !gone {
			t.Error("Goexit of an item is lost")
		}
		v, _ = caught(func() { run(2, 2, func(i int) { run(2, 2, func(j int) { panic("inner") }) }) })
		if p, ok := v.(*par.Panic); !ok || p.Value != "inner" {
			t.Errorf("nested: %v", v)
		}
	})
}

func thrown(v any) { panic(v) }

// TestPanicOverError: an error does not hide a panic.
func TestPanicOverError(t *testing.T) {
	began := make(chan struct{})
	v, _ := caught(func() {
		_ = par.Each(t.Context(), 2, 2, func(_ context.Context, i int) error {
			if i == 1 {
				close(began)
				panic("odd")
			}
			<-began
			return errors.New("even")
		})
	})
	if p, ok := v.(*par.Panic); !ok || p.Value != "odd" {
		t.Errorf("%v", v)
	}
}

// TestCrew: work is called once on each goroutine and may return early.
func TestCrew(t *testing.T) {
	var calls atomic.Int32
	var sum atomic.Int64
	if err := par.Crew(t.Context(), 3, 100, func(_ context.Context, items iter.Seq[int]) error {
		first := calls.Add(1) == 1
		for i := range items {
			sum.Add(int64(i))
			if first {
				return nil
			}
		}
		return nil
	}); err != nil || calls.Load() != 3 || sum.Load() != 4950 {
		t.Errorf("%v, %d calls, sum %d", err, calls.Load(), sum.Load())
	}
	none := errors.New("no buffer")
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		if err := par.Crew(t.Context(), 2, 5, func(_ context.Context, items iter.Seq[int]) error {
			if calls.Add(1) == 1 {
				synctest.Wait()
				return none
			}
			for i := range items {
				return fmt.Errorf("item %d", i)
			}
			return nil
		}); err != none {
			t.Error(err)
		}
	})
}

// TestOrdered: results come in order, and a bounded number of items runs ahead of the caller.
func TestOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		got := 0
		seq := par.Ordered(t.Context(), 3, 100, func(ctx context.Context, i int) int {
			begun.Add(1)
			defer ended.Add(1)
			for k := range (7 * i) % 5 {
				_ = k
				runtime.Gosched()
			}
			return i * i
		})
		for i, sq := range seq {
			synctest.Wait()
			if i != got || sq != i*i {
				t.Fatalf("item %d is %d, want item %d", i, sq, got)
			}
			got++
			if n := int(begun.Load()); n > got+6 {
				t.Fatalf("%d begun when %d are taken", n, got)
			}
			if got == 50 {
				break
			}
		}
		if n := begun.Load(); n > 57 || ended.Load() != n {
			t.Errorf("%d begun, %d ended", n, ended.Load())
		}
		for range seq {
			got++
		}
		if got != 150 {
			t.Errorf("%d items", got-50)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range par.Ordered(ctx, 3, 100, func(context.Context, int) int { return 0 }) {
			if i == 2 {
				cancel()
			} else if i > 2 {
				t.Fatalf("item %d after the end of the context", i)
			}
		}
	})
}

func TestWorkers(t *testing.T) {
	if par.Workers(3) != 3 || par.Workers(0) != runtime.GOMAXPROCS(0) {
		t.Error(par.Workers(3), par.Workers(0))
	}
}

func BenchmarkEach(b *testing.B) {
	for b.Loop() {
		_ = par.Each(b.Context(), 4, 1000, func(context.Context, int) error { return nil })
	}
}
