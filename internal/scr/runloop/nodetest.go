package runloop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"blobio/internal/par"
	"blobio/internal/scr/hostlist"
	"blobio/scr/config"
)

// ErrSkip is in the chain of the error of a node test that cannot be made here; the loop goes on without it.
var ErrSkip = errors.New("test left out")

// NodeTest finds nodes that cannot be used.
type NodeTest interface {
	Name() string
	// Test returns the nodes that fail, with the reason. The error says that the test cannot be made at all; the loop goes
	// on without it.
	Test(ctx context.Context, nodes []string) (map[string]string, error)
}

// Named fails nodes of a list: SCR_EXCLUDE_NODES, or what a command line says.
type Named struct {
	Title  string
	Nodes  []string
	Reason string
}

// Name implements NodeTest.
func (t *Named) Name() string { return t.Title }

// Test implements NodeTest.
func (t *Named) Test(_ context.Context, nodes []string) (map[string]string, error) {
	bad := map[string]string{}
	for _, n := range hostlist.Intersect(nodes, t.Nodes) {
		bad[n] = t.Reason
	}
	return bad, nil
}

// Manager asks the resource manager: Argv with "{nodes}" replaced by the list
// prints those that are down, as host lists.
type Manager struct {
	Argv []string
	Exec Exec // nil: RunCommand
}

// SlurmDown is the question to Slurm.
func SlurmDown(run Exec) *Manager {
	return &Manager{[]string{"sinfo", "--noheader", "--format=%N", "--states=down,drain,drained,fail,no_respond", "--nodes={nodes}"}, run}
}

// Name implements NodeTest.
func (t *Manager) Name() string { return "manager" }

// Test implements NodeTest.
func (t *Manager) Test(ctx context.Context, nodes []string) (map[string]string, error) {
	argv := make([]string, len(t.Argv))
	for i, a := range t.Argv {
		argv[i] = strings.ReplaceAll(a, "{nodes}", hostlist.Compress(nodes))
	}
	run := t.Exec
	if run == nil {
		run = RunCommand
	}
	out, err := run(ctx, argv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", argv[0], err, ErrSkip)
	}
	bad := map[string]string{}
	for line := range strings.Lines(string(out)) {
		down, err := hostlist.Expand(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s prints %q: %w (%w)", argv[0], line, err, ErrSkip)
		}
		for _, n := range hostlist.Intersect(nodes, down) {
			bad[n] = argv[0] + " reports it as down"
		}
	}
	return bad, nil
}

// each tests nodes one by one, several at once, and collects the reasons.
func each(ctx context.Context, nodes []string, limit time.Duration, test func(ctx context.Context, node string) error) (bad map[string]error, err error) {
	const width = 32
	bad = map[string]error{}
	var mu sync.Mutex
	par.Do(width, len(nodes), func(i int) {
		one, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := test(one, nodes[i])
		if err == nil {
			return
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", limit)
		}
		mu.Lock()
		defer mu.Unlock()
		bad[nodes[i]] = err
	})
	return bad, ctx.Err() // what an interrupted test says counts for nothing
}

// Ping sends each node a packet. Where no node at all answers, users may not ping, and the test is left out.
type Ping struct {
	Limit time.Duration // for one node; 0: 10 s
	Exec  Exec          // nil: RunCommand
}

// Name implements NodeTest.
func (t *Ping) Name() string { return "ping" }

// Test implements NodeTest.
func (t *Ping) Test(ctx context.Context, nodes []string) (map[string]string, error) {
	run := t.Exec
	if run == nil {
		run = RunCommand
	}
	bad, err := each(ctx, nodes, orDefault(t.Limit, 10*time.Second), func(ctx context.Context, n string) error {
		_, err := run(ctx, []string{"ping", "-c", "1", n})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, err := range bad {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("there is no ping command (%w)", ErrSkip)
		}
	}
	if len(bad) == len(nodes) && len(nodes) > 0 {
		return nil, fmt.Errorf("no node answers, %s: %w (%w)", nodes[0], bad[nodes[0]], ErrSkip)
	}
	return reasons(bad, "no answer to a ping: "), nil
}

func reasons(bad map[string]error, prefix string) map[string]string {
	out := map[string]string{}
	for n, err := range bad {
		out[n] = prefix + err.Error()
	}
	return out
}

func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// Echo runs a command on each node that only prints something.
type Echo struct {
	Remote Remote
	Limit  time.Duration // for one node; 0: 60 s
}

// Name implements NodeTest.
func (t *Echo) Name() string { return "echo" }

// Test implements NodeTest.
func (t *Echo) Test(ctx context.Context, nodes []string) (map[string]string, error) {
	bad, err := each(ctx, nodes, orDefault(t.Limit, time.Minute), t.Remote.Echo)
	return skipOr(bad, err)
}

// Dirs has each node look at its directories.
type Dirs struct {
	Remote Remote
	Dirs   []config.Capacity
	Free   bool          // count what is free, not the size of the file system
	Limit  time.Duration // for one node; 0: 60 s
}

// Name implements NodeTest.
func (t *Dirs) Name() string { return "dir_capacity" }

// Test implements NodeTest.
func (t *Dirs) Test(ctx context.Context, nodes []string) (map[string]string, error) {
	bad, err := each(ctx, nodes, orDefault(t.Limit, time.Minute), func(ctx context.Context, n string) error {
		list, err := t.Remote.CheckDirs(ctx, n, t.Dirs, t.Free)
		if err != nil {
			return err
		}
		for _, d := range list {
			if err := d.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return skipOr(bad, err)
}

// skipOr gives the reasons, but where the command to reach a node is missing that is no fault of the nodes.
func skipOr(bad map[string]error, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	for _, err := range bad {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%w (%w)", err, ErrSkip)
		}
	}
	return reasons(bad, ""), nil
}
