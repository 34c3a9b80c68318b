package blob

import (
	"context"
	"sync"

	"blobio/comm"
)

// idle says which workers of a flush in the background may work: as many as the process has cores beyond those on which its ranks
// compute, at least one; all of them once a rank waits for it.
type idle struct {
	tokens chan struct{}

	mu    sync.Mutex
	wait  chan struct{} // closed when a rank waits; nil: nothing is in the background
	hurry bool          // it is closed
}

// newIdle is for a process with so many workers, and ranks that compute.
func newIdle(workers, ranks int) *idle {
	return &idle{tokens: make(chan struct{}, max(1, workers-ranks))}
}

// ranksHere is how many ranks of c this process has.
func ranksHere(c comm.Comm) int {
	if comm.Apart(c) {
		return 1
	}
	return c.Size()
}

// leave notes that something goes to the background, and that nobody waits for it yet.
func (d *idle) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wait == nil || d.hurry {
		d.wait, d.hurry = make(chan struct{}), false
	}
}

// rush lets all workers work: a rank waits.
func (d *idle) rush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wait != nil && !d.hurry {
		close(d.wait)
		d.hurry = true
	}
}

// waiting is closed when a rank waits for what has been left to the background.
func (d *idle) waiting() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wait
}

// flightKey is that of a context in which the work of a flight is done.
type flightKey struct{}

// door lets the workers of one queue in.
type door struct {
	d    *idle           // nil: everyone may come in at once
	wait <-chan struct{} // closed when a rank waits
	over chan struct{}   // closed when there is nothing left to be done
	once sync.Once
}

// newDoor is for work in ctx: of a flight, or of ranks that wait for it.
func (p *process) newDoor(ctx context.Context) *door {
	d, _ := ctx.Value(flightKey{}).(*idle)
	if d == nil {
		return &door{}
	}
	return &door{d: d, wait: d.waiting(), over: make(chan struct{})}
}

// enter waits until one more worker may work; it is false if there is nothing left for it. The worker calls leave when it has found nothing
// more to do.
func (g *door) enter(ctx context.Context) (leave func(), ok bool) {
	if g.d == nil {
		return func() {}, true
	}
	end := func() { g.once.Do(func() { close(g.over) }) }
	select {
	case g.d.tokens <- struct{}{}:
		return func() { <-g.d.tokens; end() }, true
	case <-g.wait:
		return end, true
	case <-g.over:
	case <-ctx.Done():
	}
	return nil, false
}
