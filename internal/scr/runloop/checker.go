package runloop

import (
	"context"
	"fmt"
	"slices"

	"blobio/internal/scr/hostlist"
)

// Down is an excluded node, with the reason.
type Down struct {
	Node   string `json:"node"`
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

// String formats the node and the reason.
func (d Down) String() string { return fmt.Sprintf("%s: %s: %s", d.Node, d.Test, d.Reason) }

// Skipped is a test that could not run.
type Skipped struct {
	Test string `json:"test"`
	Why  string `json:"why"`
}

// Checker tests nodes. A node that fails a test stays excluded for the rest of the allocation, even if it seems healthy later. A
// Checker is not safe for concurrent use.
type Checker struct {
	Tests []NodeTest // cheapest first

	down []Down
}

// Down returns all excluded nodes, in the order of their failures.
func (c *Checker) Down() []Down { return slices.Clone(c.down) }

// DownNodes returns the names of all excluded nodes.
func (c *Checker) DownNodes() (out []string) {
	for _, d := range c.down {
		out = append(out, d.Node)
	}
	return out
}

// Check tests the nodes that are not excluded. Each test gets only the nodes that passed the earlier tests. Check returns the
// newly excluded nodes, and the tests that could not run. If ctx ends, Check returns its error and excludes no node.
func (c *Checker) Check(ctx context.Context, nodes []string) (fresh []Down, skipped []Skipped, err error) {
	nodes = hostlist.Diff(hostlist.Union(nodes), c.DownNodes())
	for _, t := range c.Tests {
		if len(nodes) == 0 {
			break
		}
		bad, err := t.Test(ctx, nodes)
		if ctx.Err() != nil {
			return fresh, skipped, ctx.Err()
		}
		if err != nil {
			skipped = append(skipped, Skipped{t.Name, err.Error()})
			continue
		}
		var left []string
		for _, n := range nodes {
			if why, ok := bad[n]; ok {
				d := Down{n, t.Name, why}
				fresh, c.down = append(fresh, d), append(c.down, d)
			} else {
				left = append(left, n)
			}
		}
		nodes = left
	}
	return fresh, skipped, nil
}
