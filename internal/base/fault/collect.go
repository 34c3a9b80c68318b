package fault

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
)

// A Collector passes findings of a check to one reader, in order. Several goroutines may add findings. It buffers a bounded
// number of findings. When the buffer is full, goroutines that add findings wait for the reader.
type Collector struct {
	ctx      context.Context
	end      context.CancelFunc
	yield    func(Finding) bool
	stopped  bool // the reader has stopped; set by the goroutine that yields
	ended    bool // a finding reports the end of the context
	starved  bool // a finding reports that the process has too many open files or no memory
	progress func(done, total int64)
	done     atomic.Int64
	total    atomic.Int64
}

// Collect returns the sequence of the findings that look adds. look runs in the reader's goroutine. The collector's context ends
// when the reader stops or ctx ends. look must then return soon. The end of ctx becomes a finding. A finding whose error is
// Exhausted is the last, because this error concerns the process and not the files. Several goroutines may call progress,
// through Did. progress may be nil.
func Collect(ctx context.Context, progress func(done, total int64), look func(c *Collector)) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		c := &Collector{yield: yield, progress: progress}
		c.ctx, c.end = context.WithCancel(ctx)
		defer c.end()
		look(c)
		if err := ctx.Err(); err != nil && !c.ended {
			c.Add(Of(Error, "", err))
		}
	}
}

// Context ends when Collect's context ends or the reader stops.
func (c *Collector) Context() context.Context { return c.ctx }

// Stopped reports whether the reader has stopped or the process is exhausted. Only look's goroutine may call it.
func (c *Collector) Stopped() bool { return c.stopped || c.starved }

// Add passes a finding to the reader and reports whether more are wanted. Only look's goroutine may call it; each function run by
// Each gets its own add.
func (c *Collector) Add(f Finding) bool {
	if c.starved {
		return false
	}
	if Exhausted(f.Err) { // later errors would come from the shortage in this process, not from the files
		c.starved = true
		defer c.end()
	}
	if why := c.ctx.Err(); why != nil && errors.Is(f.Err, why) {
		c.ended = true
	}
	if !c.stopped && !c.yield(f) {
		c.stopped = true
		c.end()
	}
	return !c.Stopped()
}

// Expect adds n units to the total work. The check chooses the unit.
func (c *Collector) Expect(n int64) { c.total.Add(n) }

// Did adds n units to the finished work and calls progress.
func (c *Collector) Did(n int64) {
	if d := c.done.Add(n); c.progress != nil {
		c.progress(d, c.total.Load())
	}
}

// maxWaiting is the maximum of buffered findings per item.
const maxWaiting = 64

// Each begins at most ahead items per worker before the first of these items is done.
const ahead = 4

// Each checks n items (such as files), several at once. The reader gets the findings item by item, and within an item in the
// order of add. The reader gets findings while later items are checked. At most 4 items per worker are begun before the first of
// them is done and read. Several goroutines may call add until do returns. add waits while the reader lags, and reports whether
// more findings are wanted. No item is begun after the reader has stopped or the context has ended.
func (c *Collector) Each(n, workers int, do func(i int, add func(Finding) bool)) {
	workers = max(min(workers, n), 1)
	q := &queue{slots: make([]slot, ahead*workers)}
	q.wake.L = &q.mu
	var wg sync.WaitGroup
	defer wg.Wait()
	defer q.stop()
	defer context.AfterFunc(c.ctx, q.stop)()
	for range workers {
		wg.Go(func() {
			for {
				i, ok := q.begin(n)
				if !ok {
					return
				}
				do(i, func(f Finding) bool { return q.add(i, f) })
				q.finish(i)
			}
		})
	}
	for i := range n {
		for {
			found, more := q.take(i)
			if c.ctx.Err() != nil {
				return
			}
			for _, f := range found {
				if !c.Add(f) {
					return
				}
			}
			if !more {
				break
			}
		}
	}
}

// queue holds the findings of items that have begun and are not yet read.
type queue struct {
	mu      sync.Mutex
	wake    sync.Cond // signals any change
	slots   []slot    // item i is in slot i modulo len(slots)
	next    int       // next item to begin
	head    int       // item that the reader is at
	stopped bool
}

type slot struct {
	found []Finding
	done  bool
}

func (q *queue) slot(i int) *slot { return &q.slots[i%len(q.slots)] }

// begin returns the next item as soon as it may begin.
func (q *queue) begin(n int) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && q.next < n && q.next >= q.head+len(q.slots) {
		q.wake.Wait()
	}
	if q.stopped || q.next >= n {
		return 0, false
	}
	q.next++
	return q.next - 1, true
}

func (q *queue) add(i int, f Finding) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.slot(i)
	for !q.stopped && len(s.found) >= maxWaiting {
		q.wake.Wait()
	}
	if q.stopped {
		return false
	}
	s.found = append(s.found, f)
	q.wake.Broadcast()
	return true
}

func (q *queue) finish(i int) {
	q.mu.Lock()
	q.slot(i).done = true
	q.mu.Unlock()
	q.wake.Broadcast()
}

// take waits for new findings of an item or its end. It returns the findings and whether more may follow.
func (q *queue) take(i int) (found []Finding, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.slot(i)
	for !q.stopped && !s.done && len(s.found) == 0 {
		q.wake.Wait()
	}
	if len(s.found) > 0 && !q.stopped {
		found, s.found = s.found, nil
		q.wake.Broadcast()
		return found, true
	}
	if !q.stopped {
		*s = slot{}
		q.head++
		q.wake.Broadcast()
	}
	return nil, false
}

func (q *queue) stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.wake.Broadcast()
}
