package runloop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// Watchdog ends runs that make no progress.
type Watchdog struct {
	Timeout    time.Duration // maximum time without progress; 0: no watchdog
	TimeoutPFS time.Duration // Timeout while a dataset is written to the parallel file system; 0: same as Timeout
	Poll       time.Duration // interval of checks; 0: a tenth of the shorter timeout, at least 1 s
	Beat       func() Beat
}

// Beat shows whether a run makes progress.
type Beat struct {
	Mark    string // the run has made progress if Mark has changed
	Writing bool   // the run is writing to the parallel file system
}

// watch returns a message when a run hangs, or "" when the run has ended.
func (w *Watchdog) watch(ctx context.Context, clock Clock, done <-chan struct{}) string {
	pfs := orDefault(w.TimeoutPFS, w.Timeout)
	poll := orDefault(w.Poll, max(min(w.Timeout, pfs)/10, time.Second))
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	})
	last, since := w.Beat(), clock.Now()
	for clock.Wait(ctx, poll) == nil {
		b, now := w.Beat(), clock.Now()
		if b != last {
			last, since = b, now
			continue
		}
		limit, where := w.Timeout, ""
		if b.Writing {
			limit, where = pfs, " while it writes to the parallel file system"
		}
		if quiet := now.Sub(since); quiet >= limit {
			return fmt.Sprintf("no progress for %v%s, want progress within %v", quiet, where, limit)
		}
	}
	return ""
}

// FileBeat returns a function that makes Beats. Progress is a change of flush.scr, index.scr, log or one of the given
// files.
func FileBeat(d *prefixdir.Dir, files ...string) func() Beat {
	fsys := vfs.OrOS(d.FS)
	all := append([]string{d.File("flush.scr"), d.File("index.scr"), d.File("log")}, files...)
	return func() (b Beat) {
		for _, name := range all {
			if info, err := fsys.Stat(name); err == nil {
				b.Mark += fmt.Sprintf("%d:%d ", info.ModTime().UnixNano(), info.Size())
			} else {
				b.Mark += "- "
			}
		}
		if f, err := d.Flush.Read(); err == nil {
			for _, e := range f.Entries() {
				if e.Location&(prefixdir.Flushing|prefixdir.SyncFlushing) != 0 {
					b.Writing = true
				}
			}
		}
		return b
	}
}
