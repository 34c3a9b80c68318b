package runloop

import (
	"context"
	"fmt"
	"slices"

	"blobio/internal/scr/hostlist"
)

// Down is a node that is not used any more.
type Down struct {
	Node   string `json:"node"`
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

// String is for people.
func (d Down) String() string { return fmt.Sprintf("%s: %s: %s", d.Node, d.Test, d.Reason) }

// Skipped is a test that could not be made.
type Skipped struct {
	Test string `json:"test"`
	Why  string `json:"why"`
}

// Checker tests nodes, and remembers: a node that fails once stays out for the rest of
// the allocation, even if it seems healthy later. It is for one goroutine.
type Checker struct {
	Tests []NodeTest // cheap ones first

	down []Down
}

// Down are all nodes that are out, in the order in which they failed.
func (c *Checker) Down() []Down { return slices.Clone(c.down) }

// DownNodes are their names.
func (c *Checker) DownNodes() (out []string) {
	for _, d := range c.down {
		out = append(out, d.Node)
	}
	return out
}

// Check tests the nodes that are not out yet, each test those that passed the
// ones before. It returns those that are newly out, and the tests that could not
// be made. The error is ctx's; no node is out for that.
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
