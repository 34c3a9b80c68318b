package blob

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// TestCanonicalPool: files that share a pool keep no more together than it may hold, whatever each may, and what they read is right. A
// Reader that is closed gives back what its file kept.
func TestCanonicalPool(t *testing.T) {
	const most = 2048
	files, want := canonicalSets(t)
	pool := NewCanonicalPool(most)
	held := func() (bytes int64, blocks int) {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		for _, f := range files {
			for _, b := range f.cache.held {
				bytes, blocks = bytes+b.to-b.from, blocks+1
			}
		}
		if pool.bytes > most {
			t.Errorf("%d bytes are kept, want at most %d", pool.bytes, most)
		}
		return bytes, blocks
	}
	for _, f := range files {
		own, err := f.r.Canonical(&CanonicalOptions{Version: f.o.Version, Memory: 1 << 20, Pool: pool})
		noError(t, err)
		f.cache = own.cache
		f.cache.c = f
	}
	var all sync.WaitGroup
	for i, f := range files {
		for k := range 2 {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				for range 60 {
					off := rnd.Int64N(f.Size())
					b := make([]byte, min(1+rnd.Int64N(300), f.Size()-off))
					if _, err := f.ReadAt(b, off); err != nil || !bytes.Equal(b, want[i][off:off+int64(len(b))]) {
						t.Errorf("file %d, %d bytes at %d: %v", i, len(b), off, err)
						return
					}
					held()
				}
			})
		}
	}
	all.Wait()
	for _, f := range files {
		f.r.work.Wait() // for what is read ahead
	}
	if sum, n := held(); n == 0 || sum != pool.bytes {
		t.Errorf("%d blocks of %d bytes are kept, of which %d count", n, sum, pool.bytes)
	}
	for _, f := range files {
		f.r.Close()
	}
	if pool.bytes != 0 || pool.idle.Len() != 0 {
		t.Errorf("%d bytes and %d blocks are kept of closed Readers", pool.bytes, pool.idle.Len())
	}
}

// A reader that makes a file for each commit of a dataset does not keep those that nobody holds any more.
func TestCanonicalForgotten(t *testing.T) {
	files, _ := canonicalSets(t)
	r, pool := files[0].r, NewCanonicalPool(1<<20)
	kept := 0
	for range 20 {
		if _, err := r.Canonical(&CanonicalOptions{Pool: pool}); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		kept = max(kept, len(r.caches))
	}
	if kept > 10 {
		t.Errorf("%d caches are kept", kept)
	}
}
