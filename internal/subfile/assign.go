package subfile

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Grouping is a method of assigning ranks to subfiles.
type Grouping uint8

const (
	// ByNode assigns all ranks of a node (ranks that share memory) to one subfile. The lowest ranks of the nodes order the
	// subfiles. E3SM-IO groups ranks in this way.
	ByNode Grouping = iota
	// Blocks assigns consecutive ranks: of P ranks and N subfiles, rank r gets subfile r*N/P. The numbers of ranks differ by at most
	// one.
	Blocks
	// RoundRobin assigns rank r to subfile r mod N.
	RoundRobin
)

var groupingNames = [...]string{"node", "block", "roundrobin"}

// String returns the name of the grouping on the command line.
func (g Grouping) String() string {
	if int(g) < len(groupingNames) {
		return groupingNames[g]
	}
	return fmt.Sprintf("Grouping(%d)", uint8(g))
}

// ParseGrouping is the reverse of String.
func ParseGrouping(s string) (Grouping, error) {
	for i, n := range groupingNames {
		if n == s {
			return Grouping(i), nil
		}
	}
	return 0, fault.Usage("grouping %q, want node, block or roundrobin", s)
}

// A Group describes one rank's subfile.
type Group struct {
	Index int       // number of this rank's subfile, from 0 to N-1
	N     int       // number of subfiles
	Comm  comm.Comm // the ranks that write the subfile, in world order: rank j writes blob j
}

// Of returns the subfile of rank r of p ranks for n subfiles. The grouping must not be ByNode.
func (g Grouping) Of(r, p, n int) int {
	if g == RoundRobin {
		return r % n
	}
	return int(int64(r) * int64(n) / int64(p))
}

// Assign assigns the ranks of c to n subfiles. For ByNode, n must be 0 or the number of nodes. Collective.
func Assign(ctx context.Context, c comm.Comm, g Grouping, n int) (Group, error) {
	var err error
	switch {
	case g > RoundRobin:
		err = fault.Usage("unknown grouping %v", g)
	case n < 0 || n > c.Size():
		err = fault.Usage("%d subfiles for %d ranks, want 1..%d", n, c.Size(), c.Size())
	case g != ByNode && n == 0:
		err = fault.Usage("grouping %v needs the number of subfiles", g)
	}
	if err != nil {
		return Group{}, err // all ranks have the same arguments and get the same error
	}
	if n == 1 && g != ByNode {
		return Group{N: 1, Comm: c}, nil
	}
	if g != ByNode {
		idx := g.Of(c.Rank(), c.Size(), n)
		sub, err := c.Split(ctx, idx, c.Rank())
		return Group{Index: idx, N: n, Comm: sub}, err
	}
	node, err := c.SplitNode(ctx)
	if err != nil {
		return Group{}, err
	}
	if node.Size() == c.Size() && n < 2 {
		return Group{N: 1, Comm: node}, nil
	}
	leader := int64(0)
	if node.Rank() == 0 {
		leader = 1
	}
	before, err := c.ExscanInt64(ctx, []int64{leader}, comm.Sum)
	if err != nil {
		return Group{}, err
	}
	total, err := c.AllreduceInt64(ctx, []int64{leader}, comm.Sum)
	if err != nil {
		return Group{}, err
	}
	idx, err := node.AllreduceInt64(ctx, []int64{leader * before[0]}, comm.Sum)
	if err != nil {
		return Group{}, err
	}
	if n != 0 && int64(n) != total[0] {
		return Group{}, fault.Usage("%d subfiles requested, but the ranks run on %d nodes", n, total[0])
	}
	return Group{Index: int(idx[0]), N: int(total[0]), Comm: node}, nil
}
