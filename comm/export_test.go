package comm

import "runtime"

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
