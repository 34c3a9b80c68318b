package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"cmp"
	"slices"
)

// Sizes of what bytes pass through: the buffer of a rank that writes its own, and at most a window. Small ones stay in a
// cache, and need no new pages.
const (
	ownBuffer = 256 << 10
	maxWindow = 1 << 20
)

// Team is the engines that plan and write what their ranks put together. Ranks that share a heap have one
// engine, which is a team of one: it holds all pieces and writes them. Where no two ranks share a heap
// each has an engine, and the engines of a node are a team. There small pieces go to the aggregators, in rounds, into
// windows: parts of the file, disjoint, in which an aggregator has everything that the team writes.
// Each rank writes its large pieces itself.
type Team struct {
	All     *layout.Ranks // of every rank of the subfile
	C       comm.Comm     // of ranks that share no heap, else nil; the others are set with it
	members []int         // sub ranks, by rank of c, ascending
	total   []int64       // elements of all members, by map from 0
	block   bool          // the members are consecutive
	Aggs    []int         // ranks of c that are aggregators
	Slot    int           // which of them this one is, or -1
	window  int64         // bytes of a window at most

	asked   bool // for shared memory
	mem     comm.Memory
	windows []byte // without shared memory: an aggregator's window
}

// newTeam makes the team of the ranks of c, which share no heap; homes are their nodes.
func newTeam(c comm.Comm, all *layout.Ranks, members []int, homes []int64, o *dataset.Options) *Team {
	t := &Team{All: all, C: c, members: members, Slot: -1}
	nd := len(all.Count) / len(all.ID)
	t.total = make([]int64, nd)
	for _, j := range members {
		for d := range nd {
			t.total[d] += all.Count[j*nd+d]
		}
	}
	t.block = members[len(members)-1]-members[0] == len(members)-1
	t.Choose(homes, o)
	return t
}

// one reports whether this is a team of one: nothing is exchanged, and this process writes all that it holds.
func (t *Team) one() bool { return len(t.members) <= 1 }

// Choose finds the aggregators: on each node as many as asked for, spread over its ranks. If the file has
// fewer servers than that, each gets an equal number of them.
func (t *Team) Choose(homes []int64, o *dataset.Options) {
	t.window = min(int64(o.Buffer), maxWindow)
	var order []int64
	nodes := map[int64][]int{}
	for r, h := range homes {
		if nodes[h] == nil {
			order = append(order, h)
		}
		nodes[h] = append(nodes[h], r)
	}
	// One of each node in turn: where servers have several aggregators, these are of as few nodes as can be, which take each other's locks.
	for k, more := 0, true; more; k++ {
		more = false
		for _, h := range order {
			l := nodes[h]
			if n := o.AggregatorsOf(len(l)); k < n {
				t.Aggs = append(t.Aggs, l[k*len(l)/n])
				more = true
			}
		}
	}
	if n := o.Stripe.Count; n > 0 && len(t.Aggs) > n {
		t.Aggs = t.Aggs[:len(t.Aggs)/n*n]
	}
	t.window = max(t.window, o.Stripe.Size)
	t.Slot = slices.Index(t.Aggs, t.C.Rank())
}

// From these mean sizes on, in bytes, each rank writes its own, if Options.OwnMin is 0: of the ranks' pieces of a variable (or with the
// process-centric layout all that they put). Each write takes the lock of the file; up to here that costs more than the copy into
// a window.
const (
	ownMinShared   = 128 << 10
	ownMinMessages = 64 << 10
)

// ownMin is the size that holds for the next flush. The team learns in the first flush whether it has shared memory.
func (t *Team) ownMin(o *dataset.Settings) int64 {
	least := int64(ownMinShared)
	if t.mem == nil && (t.asked || o.Messages) {
		least = ownMinMessages
	}
	return cmp.Or(o.OwnMin, least)
}
