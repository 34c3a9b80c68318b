package comm

import (
	"blobio/internal/base/fault"
	"time"
)

// Options of Run. nil means all defaults.
type Options struct {
	// RanksPerNode is the number of ranks that share a node; 0 (default) puts all on one.
	RanksPerNode int
	// RoundRobin places rank r on node r mod nodes, where nodes = ceil(ranks / RanksPerNode). Default: ranks
	// 0 ... RanksPerNode-1 on the first node, the next on the second, ...
	RoundRobin bool
	// DeadlockAfter is how long all ranks must have been waiting for each other before
	// that is an error (ErrDeadlock). Default (0) is 1 second; negative turns it
	// off, for programs whose ranks communicate from more than one goroutine and
	// then compute for longer than that.
	DeadlockAfter time.Duration
}

// Validate returns an error that wraps ErrUsage if a field is out of range.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.RanksPerNode < 0:
		return fault.Usage("RanksPerNode %d, want >= 0", o.RanksPerNode)
	}
	return nil
}

// node returns the node of a rank in a run of n.
func (o *Options) node(rank, n int) int {
	if o == nil || o.RanksPerNode == 0 || n == 0 {
		return 0
	}
	if o.RoundRobin {
		return rank % ((n + o.RanksPerNode - 1) / o.RanksPerNode)
	}
	return rank / o.RanksPerNode
}

func (o *Options) deadlockAfter() time.Duration {
	if o == nil || o.DeadlockAfter == 0 {
		return time.Second
	}
	return o.DeadlockAfter
}
