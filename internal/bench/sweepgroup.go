package bench

import (
	"context"
	"fmt"

	"blobio/comm"
)

// sweepGroup holds the ranks of a point. c is nil in processes that are not ranks of the point.
type sweepGroup struct {
	c, node comm.Comm
	nodes   int
	few     error // not nil if there are too few processes
}

func newSweepGroup(ctx context.Context, c comm.Comm) (g sweepGroup, err error) {
	g.c = c
	if g.node, err = c.SplitNode(ctx); err != nil {
		return g, err
	}
	first := 0
	if g.node.Rank() == 0 {
		first = 1
	}
	g.nodes, err = comm.AllreduceOne(ctx, c, first, comm.Sum)
	return g, err
}

// group returns the group of the first processes, as many as ranks, with at most perNode processes of each node.
// perNode 0 means no limit.
func (s *sweeper) group(ctx context.Context, ranks, perNode int) (g sweepGroup, err error) {
	key := [2]int{ranks, perNode}
	if g, ok := s.groups[key]; ok {
		return g, g.few
	}
	in := func(c comm.Comm, yes bool) (comm.Comm, error) {
		color := -1
		if yes {
			color = 0
		}
		return c.Split(ctx, color, c.Rank())
	}
	c := s.World
	if perNode > 0 {
		node, err := c.SplitNode(ctx)
		if err == nil {
			c, err = in(c, node.Rank() < perNode)
		}
		if err != nil {
			return g, err
		}
	}
	if c != nil && c.Size() < ranks {
		g.few = fmt.Errorf("%d ranks, but only %d processes", ranks, c.Size())
		c = nil
	}
	if c != nil && c.Size() > ranks {
		if c, err = in(c, c.Rank() < ranks); err != nil {
			return g, err
		}
	}
	if c != nil {
		if g, err = newSweepGroup(ctx, c); err != nil {
			return g, err
		}
	}
	s.groups[key] = g
	return g, g.few
}
