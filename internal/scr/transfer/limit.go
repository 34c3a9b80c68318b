package transfer

import (
	"context"
	"sync"
	"time"
)

// Clock provides the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time // same as time.After
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-c.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bucket is a token bucket that may be overdrawn. A taker waits until the debt that it has caused is paid back. Therefore
// the mean rate is kept for any amount, and takers are served in order.
type bucket struct {
	mu    sync.Mutex
	clock Clock
	rate  float64 // tokens per second; 0: no limit
	burst float64 // maximum number of tokens in the bucket
	level float64
	last  time.Time
}

// setRate changes the rate. The bucket holds at most the tokens of the time burst. The first call of setRate fills the
// bucket.
func (b *bucket) setRate(rate float64, burst time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rate == b.rate {
		return
	}
	if b.rate == 0 {
		b.last, b.level = b.clock.Now(), rate*burst.Seconds()
	} else {
		b.refill()
	}
	b.rate, b.burst = rate, rate*burst.Seconds()
	b.level = min(b.level, b.burst)
}

func (b *bucket) refill() {
	now := b.clock.Now()
	if d := now.Sub(b.last); d > 0 {
		b.level = min(b.burst, b.level+b.rate*d.Seconds())
	}
	b.last = now
}

// take takes n tokens and returns the time for which the taker must wait.
func (b *bucket) take(n float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate == 0 {
		return 0
	}
	b.refill()
	b.level -= n
	if b.level >= 0 {
		return 0
	}
	return time.Duration(-b.level / b.rate * float64(time.Second))
}

func (b *bucket) limited() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate > 0
}

// burstTime is the time for which a bucket collects unused tokens. A block is smaller than the number of bytes that the
// limit allows in this time.
const burstTime = 100 * time.Millisecond

// minBlock is the minimum block size in bytes. It holds even at low rates.
const minBlock = 4 << 10
