package transfer

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

// fakeClock advances only by waits, which end at once, and by simulated work.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
	waits int
	on    func(d time.Duration) // called at each wait
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Unix(1e9, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) work(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept += d
	c.waits++
	if c.on != nil {
		c.on(d)
	}
	ch := make(chan time.Time, 1)
	ch <- c.now
	return ch
}

// between fails the test unless d is the time that n units take at rate. At most
// the time of one burst may be missing.
func between(t *testing.T, d time.Duration, n, rate float64) {
	t.Helper()
	most := n / rate
	if s := d.Seconds(); s > most*1.001+1e-6 || s < most-burstTime.Seconds()-1e-6 {
		t.Errorf("%v, want about %.3f s", d, most)
	}
}

func TestRate(t *testing.T) {
	for _, rate := range []float64{1000, 1e6, 1e9} {
		mem := vfs.NewMem()
		data := noise(1, 300_000)
		put(t, mem, "/f", data)
		c := newFakeClock()
		e := engine(t, Options{FS: mem, Rate: rate, Clock: c})
		if _, err := e.Copy(context.Background(), job("/f", "/g", data)); err != nil {
			t.Fatal(err)
		}
		between(t, c.slept, float64(len(data)), rate)
		// A burst is at most the amount of burstTime or of the minimum block,
		// whichever is larger.
		if want := float64(len(data)) / max(minBlock, rate/10); float64(c.waits) < math.Floor(want)-1 {
			t.Errorf("rate %v: %d waits, want %v", rate, c.waits, want)
		}
	}
}

// All files of an engine share the limit.
func TestRateOfAllFiles(t *testing.T) {
	mem := vfs.NewMem()
	var jobs []Job
	for _, n := range []string{"a", "b", "c", "d"} {
		data := noise(2, 100_000)
		put(t, mem, "/"+n, data)
		jobs = append(jobs, job("/"+n, "/x"+n, data))
	}
	c := newFakeClock()
	e := engine(t, Options{FS: mem, Rate: 50_000, Clock: c, Files: 1})
	if _, err := e.CopyAll(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	between(t, c.slept, 400_000, 50_000)
}

func TestCPU(t *testing.T) {
	mem := vfs.NewMem()
	data := noise(3, 1_000_000)
	put(t, mem, "/f", data)
	c := newFakeClock()
	work := time.Duration(0)
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead || op.Kind == vfs.OpWrite {
			c.work(7 * time.Millisecond)
			work += 7 * time.Millisecond
		}
		return nil
	})
	e := engine(t, Options{FS: fsys, CPU: 5, Clock: c, BufSize: 1 << 16})
	began := c.Now()
	if _, err := e.Copy(context.Background(), job("/f", "/g", data)); err != nil {
		t.Fatal(err)
	}
	between(t, c.Now().Sub(began), work.Seconds()*20, 1)
}

func TestNoLimitsNoWaits(t *testing.T) {
	mem := vfs.NewMem()
	data := noise(4, 100_000)
	put(t, mem, "/f", data)
	c := newFakeClock()
	if _, err := engine(t, Options{FS: mem, Clock: c}).Copy(context.Background(), job("/f", "/g", data)); err != nil || c.waits > 0 {
		t.Fatal(c.waits, err)
	}
}

// stuckClock never ends a wait. A cancelled wait returns at once.
type stuckClock struct{ waiting chan struct{} }

func (stuckClock) Now() time.Time { return time.Unix(1e9, 0) }
func (c stuckClock) After(time.Duration) <-chan time.Time {
	select {
	case c.waiting <- struct{}{}:
	default:
	}
	return nil
}

func TestCancelWhileWaiting(t *testing.T) {
	mem := vfs.NewMem()
	data := noise(5, 100_000)
	put(t, mem, "/f", data)
	c := stuckClock{make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-c.waiting; cancel() }()
	_, err := engine(t, Options{FS: mem, Rate: 1000, Clock: c}).Copy(ctx, job("/f", "/g", data))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	noTemps(t, mem, "/")
}

// In any span of time the takers get at most the rate times the span plus one
// burst. The last taker is not counted.
func TestBucketProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newFakeClock()
		b := bucket{clock: c}
		rate := rapid.Float64Range(1, 1e9).Draw(t, "rate")
		b.setRate(rate, burstTime)
		began := c.Now()
		var sum float64
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			c.work(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "idle")))
			n := rapid.Float64Range(0, 2*rate).Draw(t, "take")
			sum += n
			if d := b.take(n); d > 0 {
				c.work(d)
			}
			if gone := c.Now().Sub(began).Seconds(); sum > rate*(gone+burstTime.Seconds())*1.0001+1 {
				t.Fatalf("%v taken in %v s at rate %v", sum, gone, rate)
			}
		}
	})
}

func TestSetLimits(t *testing.T) {
	c := newFakeClock()
	e := engine(t, Options{Clock: c})
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		if e.SetLimits(v, 0) == nil || e.SetLimits(0, v) == nil {
			t.Errorf("limit %v is accepted", v)
		}
	}
	if err := e.SetLimits(1000, 0); err != nil {
		t.Fatal(err)
	}
	_ = e.rate.take(1100)
	if err := e.SetLimits(500, 0); err != nil {
		t.Fatal(err)
	}
	if d := e.rate.take(0); d < 1900*time.Millisecond || d > 2100*time.Millisecond {
		t.Errorf("a debt of 1000 bytes at 500 per second: %v", d)
	}
	if err := e.SetLimits(0, 0); err != nil || e.rate.take(1e9) != 0 {
		t.Error("no limit, and a wait")
	}
}
