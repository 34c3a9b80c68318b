package main

import (
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, or nothing. It shows up only when the work
// takes a while. Its methods may be called by several goroutines.
type progress struct {
	e     *env
	start time.Time
	quiet bool

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	stage string
	total int64
	last  time.Time
}

// Times before a bar appears, and between its updates.
const (
	progressDelay = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func (e *env) newProgress() *progress {
	f, ok := e.stderr.(*os.File)
	p := &progress{e: e, start: time.Now(), quiet: e.noProgress || !ok || !term.IsTerminal(int(f.Fd()))}
	if !p.quiet {
		width, _, err := term.GetSize(int(f.Fd()))
		p.quiet = err == nil && tooNarrow(width)
	}
	return p
}

// tooNarrow tells whether a bar would be longer than a line of the terminal,
// where each update would leave a line behind; 0 is a width that nobody knows.
func tooNarrow(width int) bool { return width > 0 && width < 60 }

// at reports bytes done of a stage; total 0 means that it is not known.
func (p *progress) at(stage string, done, total int64) {
	if p.quiet || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	now := time.Now()
	total = max(total, 0)
	if p.bar == nil || stage != p.stage || total != p.total {
		p.clear()
		length := total
		if length == 0 {
			length = -1
		}
		p.bar = progressbar.NewOptions64(length,
			progressbar.OptionSetWriter(p.e.stderr),
			progressbar.OptionSetDescription(stage),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionUseIECUnits(true),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine that draws by itself
			progressbar.OptionClearOnFinish())
		p.bar.StartWithoutRender() // the rate counts from here, whenever the bar shows up
		p.stage, p.total, p.last = stage, total, now
	}
	if now.Sub(p.start) < progressDelay || now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	if p.total > 0 {
		done = min(done, p.total-1) // at the total the bar would finish itself; end does that
	}
	_ = p.bar.Set64(done)
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// end removes the bar.
func (p *progress) end() {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.quiet = true
}
