package runloop

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// fakeClock advances only during waits.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
	on    func(d time.Duration) // called after each wait
}

func newClock() *fakeClock { return &fakeClock{now: time.Unix(1_000_000, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.waits = append(c.waits, d)
	on := c.on
	c.mu.Unlock()
	if on != nil {
		on(d)
	}
	return ctx.Err()
}

// fakeLauncher makes each run behave as the test specifies.
type fakeLauncher struct {
	launches []Launch
	run      func(l Launch, j *fakeJob) // ends j, at once or later
	err      error
}

func (f *fakeLauncher) Name() string             { return "fake" }
func (f *fakeLauncher) Plan(l Launch) [][]string { return [][]string{l.Args} }

func (f *fakeLauncher) Start(ctx context.Context, l Launch) (Job, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.launches = append(f.launches, l)
	j := &fakeJob{done: make(chan struct{})}
	f.run(l, j)
	return j, nil
}

func (f *fakeLauncher) nodes() (out [][]string) {
	for _, l := range f.launches {
		out = append(out, l.Nodes)
	}
	return out
}

type fakeJob struct {
	once  sync.Once
	done  chan struct{}
	exit  Exit
	onEnd func(hard bool)
	mu    sync.Mutex
	ended []bool
}

func (j *fakeJob) finish(code int) {
	j.once.Do(func() { j.exit.Code = code; close(j.done) })
}
func (j *fakeJob) Done() <-chan struct{} { return j.done }
func (j *fakeJob) Exit() Exit            { <-j.done; return j.exit }
func (j *fakeJob) End(hard bool) {
	j.mu.Lock()
	j.ended = append(j.ended, hard)
	on := j.onEnd
	j.mu.Unlock()
	if on != nil {
		on(hard)
		return
	}
	j.finish(143)
}

// fakeTest fails the nodes in its map.
type fakeTest struct {
	bad    map[string]string
	err    error
	tested [][]string
}

func (f *fakeTest) test() NodeTest {
	return NodeTest{"fake", func(_ context.Context, nodes []string) (map[string]string, error) {
		f.tested = append(f.tested, slices.Clone(nodes))
		return maps.Clone(f.bad), f.err
	}}
}

var errTest = errors.New("test error")

func memDir(t *testing.T) *prefixdir.Dir {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/p"); err != nil {
		t.Fatal(err)
	}
	return prefixdir.Open(fs, "/p")
}
