package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
	"blobio/internal/view/tree"
)

const (
	checkTime  = 3 * time.Second // how long a page waits for a quick check
	checkMost  = 20              // maximum number of findings on a page
	checkRanks = 4096            // maximum ranks of a dataset for a check of all maps
	checkKept  = 256             // maximum number of cached results
	checkAge   = time.Minute     // lifetime of a result: a writer may come and go while the files stay the same
)

// checks are quick checks of datasets for their pages. Only one check runs at a time.
type checks struct {
	mu   sync.Mutex
	turn chan struct{}
	done map[string]checked // by path
}

// checked is the result of a check. It is valid as long as the files have the same stamp.
type checked struct {
	stamp string
	at    time.Time
	list  []blob.Finding
	how   string
}

func newChecks() *checks { return &checks{turn: make(chan struct{}, 1), done: map[string]checked{}} }

// of returns the findings of a quick check of a dataset, and a description of its outcome.
func (c *checks) of(ctx context.Context, t *tree.Tree, name string, set *tree.Dataset) ([]blob.Finding, string) {
	if _, ranks := set.Reader().Subfiles(); ranks > checkRanks {
		return nil, fmt.Sprintf("Not checked: %s ranks are too many for a page. Run blobio check.", chart.Count(int64(ranks)))
	}
	stamp := set.Stamp()
	c.mu.Lock()
	x, ok := c.done[name]
	c.mu.Unlock()
	if ok && x.stamp == stamp && time.Since(x.at) < checkAge {
		return append([]blob.Finding(nil), x.list...), x.how
	}
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, "Not checked: the server is busy."
	}
	seq, err := t.Check(ctx, name, blob.CheckOptions{Quick: true, Workers: 1, MaxOpen: 16})
	if err != nil {
		return nil, "Not checked: the dataset cannot be read."
	}
	x = checked{stamp: stamp, at: time.Now()}
	n := 0
	for f := range seq {
		if fault.Exhausted(f.Err) { // always the last finding
			return x.list, "The check is incomplete: the server has too many open files. Run blobio check."
		}
		if f.Severity == blob.Note || ctx.Err() != nil {
			continue
		}
		if n++; n <= checkMost {
			x.list = append(x.list, f)
		}
	}
	switch {
	case ctx.Err() != nil:
		return x.list, "The check is incomplete: there may be more findings. Run blobio check."
	case n > checkMost:
		x.how = fmt.Sprintf("%s; the first %d are shown.", plural(int64(n), "finding"), checkMost)
	case n == 0:
		x.how = "Nothing is wrong with headers, sizes and maps. Reads compare data with their checksums."
	default:
		x.how = plural(int64(n), "finding") + "."
	}
	c.mu.Lock()
	if len(c.done) >= checkKept {
		clear(c.done)
	}
	c.done[name] = x
	c.mu.Unlock()
	return append([]blob.Finding(nil), x.list...), x.how
}
