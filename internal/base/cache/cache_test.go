package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

func itself(n int) int64 { return int64(n) }

// TestModel compares the cache with a list of the latest keys.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 20).Draw(t, "limit")
		c := New[int](limit, itself)
		var latest []int // the keys, which are also the sizes, latest first
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 12).Draw(t, "key")
			at := -1
			for i, k := range latest {
				if k == key {
					at = i
				}
			}
			if rapid.Bool().Draw(t, "get") {
				if v, ok := c.Get(key); ok != (at >= 0) || ok && v != key {
					t.Fatalf("%d of %v: %d, %v", key, latest, v, ok)
				}
				if at < 0 {
					continue
				}
			} else {
				made := false
				if v, err := c.Make(context.Background(), key, func() (int, error) { made = true; return key, nil }); err != nil || v != key || made != (at < 0) {
					t.Fatalf("%d of %v: %d, %v, made %v", key, latest, v, err, made)
				}
			}
			if at >= 0 {
				latest = append(latest[:at], latest[at+1:]...)
			}
			latest = append([]int{key}, latest...)
			sum := int64(0)
			for i, k := range latest {
				if sum += int64(k); sum > limit && i > 0 {
					latest = latest[:i]
					break
				}
			}
		}
	})
}

// TestOnce: concurrent callers of a key get one value, made once.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string](10, itself)
		begun, end := make(chan bool), make(chan bool)
		var made atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if v, err := c.Make(t.Context(), "a", func() (int, error) {
					made.Add(1)
					close(begun)
					<-end
					return 7, nil
				}); err != nil || v != 7 {
					t.Error(v, err)
				}
			})
		}
		<-begun
		synctest.Wait()
		if _, ok := c.Get("a"); ok {
			t.Error("it is there before it is made")
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := c.Make(ctx, "a", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("who waits does not go when its context ends: %v", err)
		}
		close(end)
		all.Wait()
		if made.Load() != 1 {
			t.Errorf("made %d times", made.Load())
		}
	})
}

// TestFailed: an error or panic is not kept, and waiting callers try again.
func TestFailed(t *testing.T) {
	boom := errors.New("boom")
	for _, fail := range []func() (int, error){func() (int, error) { return 0, boom }, func() (int, error) { panic(boom) }} {
		synctest.Test(t, func(t *testing.T) {
			c := New[string](10, itself)
			begun, end := make(chan bool), make(chan bool)
			go func() {
				defer func() { _ = recover() }()
				if _, err := c.Make(t.Context(), "a", func() (int, error) { close(begun); <-end; return fail() }); err != boom {
					t.Error(err)
				}
			}()
			<-begun
			waited := make(chan bool)
			go func() {
				defer close(waited)
				if v, err := c.Make(t.Context(), "a", func() (int, error) { return 3, nil }); err != nil || v != 3 {
					t.Error(v, err)
				}
			}()
			synctest.Wait()
			close(end)
			<-waited
			if v, ok := c.Get("a"); !ok || v != 3 {
				t.Error(v, ok)
			}
		})
	}
}
