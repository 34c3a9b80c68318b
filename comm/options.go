package comm

import (
	"blobio/internal/base/fault"
	"time"
)

// Options are the options of Run. A nil pointer means the defaults.
type Options struct {
	// RanksPerNode is the number of ranks per node. 0 (default) puts all ranks on one node.
	RanksPerNode int
	// RoundRobin puts rank r on node r mod nodes, where nodes = ceil(ranks / RanksPerNode). By default the first RanksPerNode ranks
	// are on the first node, the next on the second, and so on.
	RoundRobin bool
	// DeadlockAfter is the time after which the run fails with ErrDeadlock if all ranks wait for each other. 0 (default) means 1
	// second. A negative value disables the check. Disable it if a rank may communicate from one goroutine while another
	// goroutine computes for longer than the limit.
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
