package transfer

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Options are the options of an Engine.
type Options struct {
	FS    vfs.FS  // file system of sources; nil: the operating system's
	DstFS vfs.FS  // file system of destinations; nil: FS
	Files int     // number of files copied at once, 1 to 1024; 0: one per processor, at most 16
	Rate  float64 // bytes per second, for all files together; 0: no limit
	// CPU is the maximum share of time spent in copying, for all files together, in percent of one core; 0: no limit. The time
	// includes waiting for devices, so that less processor time is used.
	CPU     float64
	BufSize int   // block size in bytes, 4 KiB to 1 GiB; 0: 1 MiB
	Sync    bool  // make copies durable before they are reported; false: never sync
	Clock   Clock // nil: real time
}

// Validate returns an error that wraps ErrUsage if a field is out of range.
func (o Options) Validate() error {
	switch {
	case o.Files < 0 || o.Files > 1024:
		return fault.Usage("Options.Files is %d, want 0 to 1024", o.Files)
	case o.BufSize != 0 && (o.BufSize < minBlock || o.BufSize > 1<<30):
		return fault.Usage("Options.BufSize is %d, want 0, or 4 KiB to 1 GiB", o.BufSize)
	case !capOK(o.Rate):
		return fault.Usage("Options.Rate is %v, want a finite number of at least 0", o.Rate)
	case !capOK(o.CPU):
		return fault.Usage("Options.CPU is %v, want a finite number of at least 0", o.CPU)
	}
	return nil
}

// capOK reports whether v is a valid limit.
func capOK(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// Engine copies files. Its methods may be called concurrently; all calls share the limits.
type Engine struct {
	o       Options
	rate    bucket // in bytes
	cpu     bucket // in seconds
	bufs    sync.Pool
	durable names // folders that are durable, together with their names and the names of their parents
}

// New returns an engine. An engine need not be closed.
func New(o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.FS = vfs.OrOS(o.FS)
	if o.DstFS == nil {
		o.DstFS = o.FS
	}
	if o.Files == 0 {
		o.Files = min(runtime.GOMAXPROCS(0), 16)
	}
	o.BufSize = cmp.Or(o.BufSize, 1<<20)
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	e := &Engine{o: o, rate: bucket{clock: o.Clock}, cpu: bucket{clock: o.Clock}}
	e.bufs.New = func() any { b := make([]byte, o.BufSize); return &b }
	return e, e.SetLimits(o.Rate, o.CPU)
}

// SetLimits changes Options.Rate and Options.CPU, also for copies in progress.
func (e *Engine) SetLimits(rate, cpu float64) error {
	if !capOK(rate) || !capOK(cpu) {
		return fault.Usage("limits are %v bytes/s and %v percent, want finite numbers of at least 0", rate, cpu)
	}
	e.rate.setRate(rate, burstTime)
	e.cpu.setRate(cpu/100, burstTime)
	return nil
}

// block returns the number of bytes to copy between two waits.
func (e *Engine) block() int {
	e.rate.mu.Lock()
	defer e.rate.mu.Unlock()
	if e.rate.rate == 0 {
		return e.o.BufSize
	}
	return int(min(float64(e.o.BufSize), max(minBlock, e.rate.burst)))
}

// pace waits as long as the limits require. n bytes were copied since began.
func (e *Engine) pace(ctx context.Context, n int, began time.Time) error {
	d := e.rate.take(float64(n))
	if !began.IsZero() {
		d = max(d, e.cpu.take(e.o.Clock.Now().Sub(began).Seconds()))
	}
	return sleep(ctx, e.o.Clock, d)
}
