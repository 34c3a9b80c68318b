package rates

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"blobio/internal/cli"
)

// tellProgress is for a process that reads it.
func tellProgress(e *cli.Env) func(done, total int64) {
	var mu sync.Mutex
	var last time.Time
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= cli.ProgressEvery {
			last = now
			fmt.Fprintf(e.Stderr, "@%d %d\n", done, total)
		}
	}
}

// benchBar tells on a terminal what is being run.
type benchBar struct {
	e     *cli.Env
	quiet bool
	bar   *progressbar.ProgressBar
}

func newBenchBar(e *cli.Env) *benchBar { return &benchBar{e: e, quiet: e.NewProgress().Quiet} }

func (b *benchBar) at(stage string, done, total int64) {
	if b.quiet {
		return
	}
	if b.bar == nil || b.bar.GetMax64() != max(total, 1) {
		b.end()
		b.bar = progressbar.NewOptions64(max(total, 1), progressbar.OptionSetWriter(b.e.Stderr), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(20), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionClearOnFinish())
	}
	if r := []rune(stage); len(r) > 60 {
		stage = string(r[:59]) + "…"
	}
	b.bar.Describe(stage)
	_ = b.bar.Set64(min(done, max(total, 1)-1))
}

func (b *benchBar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}
