package blob

import (
	"sync"
)

// parallel calls f(0..n-1) from the reader's workers and waits for all.
func (r *Reader) parallel(n int, f func(i int)) { inParallel(r.opt.Workers, n, f) }

func inParallel(workers, n int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}
