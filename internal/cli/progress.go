package cli

import (
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a bar on a terminal, or nothing. It shows up only when the work
// takes a while. Its methods may be called by several goroutines.
type Progress struct {
	e     *Env
	start time.Time
	Quiet bool

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	stage string
	total int64
	last  time.Time
}

// Times before a bar appears, and between its updates.
const (
	progressDelay = 400 * time.Millisecond
	ProgressEvery = 100 * time.Millisecond
)

func (e *Env) NewProgress() *Progress {
	f, ok := e.Stderr.(*os.File)
	p := &Progress{e: e, start: time.Now(), Quiet: e.NoProgress || !ok || !term.IsTerminal(int(f.Fd()))}
	if !p.Quiet {
		width, _, err := term.GetSize(int(f.Fd()))
		p.Quiet = err == nil && tooNarrow(width)
	}
	return p
}

// tooNarrow tells whether a bar would be longer than a line of the terminal,
// where each update would leave a line behind; 0 is a width that nobody knows.
func tooNarrow(width int) bool { return width > 0 && width < 60 }

// At reports bytes done of a stage; total 0 means that it is not known.
func (p *Progress) At(stage string, done, total int64) {
	if p.Quiet || !p.mu.TryLock() {
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
			progressbar.OptionSetWriter(p.e.Stderr),
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
	if now.Sub(p.start) < progressDelay || now.Sub(p.last) < ProgressEvery {
		return
	}
	p.last = now
	if p.total > 0 {
		done = min(done, p.total-1) // at the total the bar would finish itself; end does that
	}
	_ = p.bar.Set64(done)
}

func (p *Progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// End removes the bar.
func (p *Progress) End() {
	if p.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.Quiet = true
}
