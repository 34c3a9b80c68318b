package rates

import (
	"fmt"
	"sync"
	"time"

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
