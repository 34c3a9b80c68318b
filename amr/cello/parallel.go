package cello

import (
	"context"
	"runtime"
	"sync"
)

// each calls work for 0 to n-1 on a few goroutines, and waits.
func (s *scanner) each(ctx context.Context, n int, work func(i int)) error {
	return parallel(ctx, n, runtime.GOMAXPROCS(0), work)
}

func parallel(ctx context.Context, n, workers int, work func(i int)) error {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			work(i)
		}
		return ctx.Err()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n || ctx.Err() != nil {
					return
				}
				work(i)
			}
		}()
	}
	wg.Wait()
	return ctx.Err()
}
