package comm

import (
	"blobio/internal/base/fault"
	"time"
)

// Options of Run. nil means all defaults.
type Options struct {
	// RanksPerNode is the number of ranks per node. 0 (default) puts all ranks on one node.
	RanksPerNode int
	// RoundRobin puts rank r on node r mod nodes, where nodes = ceil(ranks / RanksPerNode). By default the first RanksPerNode ranks
	// are on the first node, the next on the second, and so on.
	RoundRobin bool
	// DeadlockAfter is the time after which ranks that all wait for each other get ErrDeadlock. Default (0) is 1 second. A negative
	// value disables the check, for programs whose ranks communicate from several goroutines and then compute for longer.
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

// node returns the node of a rank in a run of n ranks.
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
