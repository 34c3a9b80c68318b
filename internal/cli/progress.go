package cli

import (
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a bar on a terminal, or nothing. It appears only if the work takes a while. Several goroutines may call its
// methods.
type Progress struct {
	e     *Env
	start time.Time
	quiet bool
	count bool // counts pieces of work, not bytes

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	stage string
	total int64
	last  time.Time
}

// Delays before a bar appears, and between its updates.
const (
	progressDelay = 400 * time.Millisecond
	ProgressEvery = 100 * time.Millisecond
)

func (e *Env) NewProgress() *Progress {
	f, ok := e.Stderr.(*os.File)
	p := &Progress{e: e, start: time.Now(), quiet: e.NoProgress || !ok || !term.IsTerminal(int(f.Fd()))}
	if !p.quiet {
		width, _, err := term.GetSize(int(f.Fd()))
		p.quiet = err == nil && tooNarrow(width)
	}
	return p
}

// tooNarrow reports whether a bar would wrap on the terminal, where each update would leave a line behind. Width 0 is unknown.
func tooNarrow(width int) bool { return width > 0 && width < 60 }

// NewCount returns a bar that counts possibly slow pieces of work instead of bytes. It appears at once, names the current piece,
// and estimates the remaining time. Its stages are steps of the same work.
func (e *Env) NewCount() *Progress {
	p := e.NewProgress()
	p.count = true
	return p
}

// At reports bytes or pieces done in a stage; total 0 means unknown.
func (p *Progress) At(stage string, done, total int64) {
	if p.quiet || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	now := time.Now()
	total = max(total, 0)
	if r := []rune(stage); p.count && len(r) > 60 {
		stage = string(r[:59]) + "…"
	}
	switch {
	case p.bar == nil || total != p.total || stage != p.stage && !p.count:
		p.clear()
		p.begin(stage, total)
		p.last = now
	case stage != p.stage:
		p.bar.Describe(stage)
	}
	p.stage, p.total = stage, total
	if !p.count && (now.Sub(p.start) < progressDelay || now.Sub(p.last) < ProgressEvery) {
		return
	}
	p.last = now
	if p.total > 0 {
		done = min(done, p.total-1) // the bar would finish itself at the total, but only end may finish it
	}
	_ = p.bar.Set64(done)
}

// begin makes a bar without showing it.
func (p *Progress) begin(stage string, total int64) {
	if total == 0 {
		total = -1
	}
	kind := []progressbar.Option{progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true), progressbar.OptionSetWidth(30), progressbar.OptionSetElapsedTime(false)}
	if p.count {
		kind = []progressbar.Option{progressbar.OptionShowCount(), progressbar.OptionSetWidth(20), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(true)}
	}
	p.bar = progressbar.NewOptions64(total, append(kind,
		progressbar.OptionSetWriter(p.e.Stderr),
		progressbar.OptionSetDescription(stage),
		progressbar.OptionSetSpinnerChangeInterval(0), // do not start a drawing goroutine
		progressbar.OptionClearOnFinish())...)
	p.bar.StartWithoutRender() // the rate counts from here, even if the bar appears later
}

// Clear removes the bar until the next report, to make way for a line of text.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// End removes the bar.
func (p *Progress) End() {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.quiet = true
}
