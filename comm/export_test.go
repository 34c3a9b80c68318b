package comm

import "runtime"

// Active is the number of ranks of the run of c that neither wait in a call nor are gone.
func Active(c Comm) int64 { return c.(*member).g.w.active.Load() }

// AwaitGone returns when n ranks have returned.
func AwaitGone(c Comm, n int) {
	w := c.(*member).g.w
	for {
		w.mu.Lock()
		gone := w.numGone
		w.mu.Unlock()
		if gone >= n {
			return
		}
		runtime.Gosched()
	}
}
