package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func found(i, k int) Finding { return Finding{File: fmt.Sprint(i), Offset: int64(k)} }

func TestCollectOrder(t *testing.T) {
	const n, of = 100, 3 * maxWaiting
	for _, workers := range []int{-1, 1, 3, 200} {
		var done atomic.Int64
		seq := Collect(t.Context(), func(d, total int64) {
			if total != n {
				t.Errorf("%d in all, want %d", total, n)
			}
			done.Store(max(done.Load(), d))
		}, func(c *Collector) {
			c.Expect(n)
			c.Add(found(-1, 0))
			c.Each(n, workers, func(i int, add func(Finding) bool) {
				for k := range of * (i % 2) {
					if !add(found(i, k)) {
						t.Error("nobody reads")
					}
				}
				c.Did(1)
			})
			c.Add(found(n, 0))
		})
		var got []Finding
		for f := range seq {
			got = append(got, f)
		}
		want := []Finding{found(-1, 0)}
		for i := 1; i < n; i += 2 {
			for k := range of {
				want = append(want, found(i, k))
			}
		}
		if want = append(want, found(n, 0)); !slices.Equal(got, want) {
			t.Errorf("%d workers: %d findings, want %d in order", workers, len(got), len(want))
		}
		if workers <= 1 && done.Load() != n {
			t.Errorf("%d done, want %d", done.Load(), n)
		}
	}
}

// Only a bounded number of items begins before the first is read, and none after the reader has stopped.
func TestCollectBounds(t *testing.T) {
	const n, workers = 1000, 2
	var begun atomic.Int64
	look := func(c *Collector) {
		c.Each(n, workers, func(i int, add func(Finding) bool) {
			begun.Add(1)
			for k := 0; add(found(i, k)); k++ { // endless until the reader stops
			}
		})
		if !c.Stopped() || c.Context().Err() == nil || c.Add(found(n, 0)) {
			t.Error("the reader has stopped, and nobody knows")
		}
	}
	for f := range Collect(t.Context(), nil, look) {
		if f.File == "0" && f.Offset == 10*maxWaiting {
			break
		}
	}
	if b := begun.Load(); b > workers {
		t.Errorf("%d items begun, want %d", b, workers)
	}
	begun.Store(0)
	var first sync.WaitGroup
	first.Add(1)
	for range Collect(t.Context(), nil, func(c *Collector) {
		c.Each(n, workers, func(i int, add func(Finding) bool) {
			begun.Add(1)
			if i == 0 {
				first.Wait() // the others continue up to the bound
			}
			if begun.Load() == ahead*workers && i > 0 {
				first.Done()
			}
			add(found(i, 0))
		})
	}) {
		break
	}
	if b := begun.Load(); b > ahead*workers {
		t.Errorf("%d items begun, want at most %d", b, ahead*workers)
	}
}

func TestCollectContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last Finding
	for last = range Collect(ctx, nil, func(c *Collector) {
		c.Each(1000, 3, func(i int, add func(Finding) bool) {
			for k := 0; add(found(i, k)); k++ {
			}
		})
	}) {
		if n++; n == 5 {
			cancel()
		}
	}
	if n < 5 || n > 6+maxWaiting || last.Err != context.Canceled {
		t.Errorf("%d findings, the last is %v", n, last)
	}
}

// A panic of the reader ends the workers and reaches the caller.
func TestCollectPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	for range Collect(t.Context(), nil, func(c *Collector) {
		c.Each(10, 3, func(i int, add func(Finding) bool) {
			for k := 0; add(found(i, k)); k++ {
			}
		})
	}) {
		panic("reader")
	}
}

// TestCollectExhausted: if the process can open no more files, the error of the last finding is Exhausted.
func TestCollectExhausted(t *testing.T) {
	full := &fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}
	for _, err := range []error{full, At("y", 0, "header", full, "cannot be read"), fmt.Errorf("y: %w", errors.Join(ErrCorrupt, full))} {
		n := 0
		var last Finding
		for last = range Collect(t.Context(), nil, func(c *Collector) {
			c.Each(1000, 1, func(i int, add func(Finding) bool) {
				if i == 3 {
					add(Of(Error, "", err))
				}
				add(Of(Error, "", ErrCorrupt))
			})
			c.Add(Of(Error, "", ErrMissing))
		}) {
			n++
		}
		if n != 4 || !Exhausted(last.Err) {
			t.Errorf("%d findings, the last: %v", n, last)
		}
	}
}
