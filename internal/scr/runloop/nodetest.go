package runloop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/scr/config"
	"blobio/internal/scr/hostlist"
)

// NodeTest finds unusable nodes.
type NodeTest struct {
	Name string
	// Test returns the failed nodes with the reasons. An error means that the test cannot run at all. Then the loop continues
	// without this test.
	Test func(ctx context.Context, nodes []string) (map[string]string, error)
}

// Named returns a test in which all nodes of a list fail. The list is SCR_EXCLUDE_NODES or comes from the command line.
func Named(title string, list []string, reason string) NodeTest {
	return NodeTest{title, func(_ context.Context, nodes []string) (map[string]string, error) {
		bad := map[string]string{}
		for _, n := range hostlist.Intersect(nodes, list) {
			bad[n] = reason
		}
		return bad, nil
	}}
}

// SlurmDown returns a test that asks Slurm for nodes that are down.
func SlurmDown(run Exec) NodeTest {
	return NodeTest{"manager", func(ctx context.Context, nodes []string) (map[string]string, error) {
		out, err := run(ctx, []string{"sinfo", "--noheader", "--format=%N", "--states=down,drain,drained,fail,no_respond", "--nodes=" + hostlist.Compress(nodes)})
		if err != nil {
			return nil, fmt.Errorf("sinfo: %w", err)
		}
		bad := map[string]string{}
		for line := range strings.Lines(string(out)) {
			down, err := hostlist.Expand(strings.TrimSpace(line))
			if err != nil {
				return nil, fmt.Errorf("sinfo prints %q: %w", line, err)
			}
			for _, n := range hostlist.Intersect(nodes, down) {
				bad[n] = "sinfo reports it as down"
			}
		}
		return bad, nil
	}}
}

// each tests several nodes at once and collects the reasons of failed nodes.
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
	return bad, ctx.Err() // the result of an interrupted test is ignored
}

// Ping returns a test that pings each node. If no node answers, users probably may not use ping. Then the test is skipped.
func Ping(run Exec) NodeTest {
	return NodeTest{"ping", func(ctx context.Context, nodes []string) (map[string]string, error) {
		bad, err := each(ctx, nodes, 10*time.Second, func(ctx context.Context, n string) error {
			_, err := run(ctx, []string{"ping", "-c", "1", n})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, err := range bad {
			if errors.Is(err, exec.ErrNotFound) {
				return nil, errors.New("there is no ping command")
			}
		}
		if len(bad) == len(nodes) && len(nodes) > 0 {
			return nil, fmt.Errorf("no node answers: %s: %w", nodes[0], bad[nodes[0]])
		}
		return reasons(bad, "no answer to a ping: "), nil
	}}
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

// Echo returns a test that runs a command on each node. The command only prints a text.
func Echo(remote Remote) NodeTest {
	return NodeTest{"echo", func(ctx context.Context, nodes []string) (map[string]string, error) {
		return skipOr(each(ctx, nodes, time.Minute, remote.Echo))
	}}
}

// Dirs returns a test in which each node checks its directories. If free is set, the nodes compare the free space, not the
// total size, with the required size.
func Dirs(remote Remote, dirs []config.Capacity, free bool) NodeTest {
	return NodeTest{"dir_capacity", func(ctx context.Context, nodes []string) (map[string]string, error) {
		return skipOr(each(ctx, nodes, time.Minute, func(ctx context.Context, n string) error {
			list, err := remote.CheckDirs(ctx, n, dirs, free)
			for _, d := range list {
				if err == nil {
					err = d.Err()
				}
			}
			return err
		}))
	}}
}

// skipOr returns the reasons, or an error if the command that reaches nodes does not exist. In that case the nodes have no
// fault.
func skipOr(bad map[string]error, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	for _, err := range bad {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, err
		}
	}
	return reasons(bad, ""), nil
}
