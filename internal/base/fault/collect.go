package fault

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
)

// A Collector takes the findings of a check, from one goroutine or many, and hands each on as soon as its turn has come. It
// keeps a bounded number of them: whoever finds more waits until the reader has taken some.
type Collector struct {
	ctx      context.Context
	end      context.CancelFunc
	yield    func(Finding) bool
	stopped  bool // the reader wants no more; set by the goroutine that yields
	ended    bool // a finding says that the context has ended
	starved  bool // a finding says that the process can open no more
	progress func(done, total int64)
	done     atomic.Int64
	total    atomic.Int64
}

// Collect is the sequence of what look adds. look runs in the goroutine of the reader, and ends soon after it has stopped to
// read or ctx has ended: the context of the collector ends then. If ctx has ended, a finding says so. A finding
// whose error is Exhausted is the last: it is about this process. Did calls progress, which may be nil, from several
// goroutines.
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

// Context ends when the one given to Collect does, or when nobody reads any more.
func (c *Collector) Context() context.Context { return c.ctx }

// Stopped says that nobody reads any more, or that no more can be found. As Add, it is for the goroutine of look.
func (c *Collector) Stopped() bool { return c.stopped || c.starved }

// Add hands a finding on, and reports whether more are wanted. It is for the goroutine of look; the functions that Each runs get an add of their own.
func (c *Collector) Add(f Finding) bool {
	if c.starved {
		return false
	}
	if Exhausted(f.Err) { // what is found from here on would be about this process
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

// Expect adds to what there is to do, in units of the check's choice.
func (c *Collector) Expect(n int64) { c.total.Add(n) }

// Did adds n to the amount that is done, and calls progress.
func (c *Collector) Did(n int64) {
	if d := c.done.Add(n); c.progress != nil {
		c.progress(d, c.total.Load())
	}
}

// maxWaiting is how many findings of an item wait for the reader.
const maxWaiting = 64

// ahead is how many items, times workers, are begun before the first is done.
const ahead = 4

// Each looks at n items (files, most often), several at once. Findings come out item by item, and within an item in the order in
// which do adds them. They come out while later items are looked at; at most 4 items for each worker are begun before
// the first of them is done and read. add may be called by several goroutines until do returns; it waits while the
// reader lags, and reports whether more are wanted. Once they are not, or the context has ended, no item is begun.
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

// queue holds what was found of the items that were begun and not yet read.
type queue struct {
	mu      sync.Mutex
	wake    sync.Cond // something has changed
	slots   []slot    // of item i: i modulo their number
	next    int       // item to begin
	head    int       // item that is read
	stopped bool
}

type slot struct {
	found []Finding
	done  bool
}

func (q *queue) slot(i int) *slot { return &q.slots[i%len(q.slots)] }

// begin returns the next item as soon as it may be begun.
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

// take returns what was found of an item since, and whether there may be more. It waits for either.
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
