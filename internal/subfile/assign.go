package subfile

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Grouping says how ranks are dealt to subfiles.
type Grouping uint8

const (
	// ByNode gives every node (ranks that share memory) one subfile; subfiles
	// are numbered by the lowest rank of their node. The reference does this.
	ByNode Grouping = iota
	// Blocks deals consecutive ranks: of P ranks and N subfiles, rank r goes to
	// subfile r*N/P, so that counts differ by at most one.
	Blocks
	// RoundRobin gives rank r to subfile r mod N.
	RoundRobin
)

var groupingNames = [...]string{"node", "block", "roundrobin"}

// String returns the grouping's name on the command line.
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

// A Group is one rank's knowledge of its subfile.
type Group struct {
	Index int       // number of this rank's subfile, 0..N-1
	N     int       // number of subfiles
	Comm  comm.Comm // the ranks that write it, in the order of their world ranks: rank j writes blob j
}

// Of returns the subfile of rank r of p for n subfiles. The grouping must not be ByNode.
func (g Grouping) Of(r, p, n int) int {
	if g == RoundRobin {
		return r % n
	}
	return int(int64(r) * int64(n) / int64(p))
}

// Assign deals the ranks of c to subfiles. n is the number of subfiles; for
// ByNode it must be 0, or agree with the number of nodes. Collective.
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
		return Group{}, err // the same on every rank: the arguments are
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
