package comm

import (
	"blobio/internal/comm/calls"
	"context"
	"fmt"
	"strings"
	"sync"
)

// group is the shared state of the ranks of one Comm. Each collective is a round: each rank adds its part and waits. The last
// rank computes the result and ends the round. A round has the same outcome on every rank.
type group struct {
	w       *world
	n       int
	members []int32 // world ranks of the members; nil: 0 ... n-1

	mu  sync.Mutex
	cur *round // nil: no rank waits
}

// member is a rank's view of a group; it implements Comm.
type member struct {
	g     *group
	rank  int
	world int // number of the rank in the run
}

func (g *group) worldRank(rank int) int {
	if g.members == nil {
		return rank
	}
	return int(g.members[rank])
}

func (g *group) has(world int) bool {
	if g.members == nil {
		return true
	}
	for _, m := range g.members {
		if int(m) == world {
			return true
		}
	}
	return false
}

// gone returns the world rank of a member that has left the run, or -1. world.mu is held.
func (g *group) gone() int {
	if g.w.numGone == 0 {
		return -1
	}
	for r := range g.n {
		if wr := g.worldRank(r); g.w.peers[wr].gone.Load() {
			return wr
		}
	}
	return -1
}

// kind is a collective.
type kind uint8

const (
	kBarrier kind = iota
	kBcast
	kGather
	kAllgather
	kAlltoallv
	kAllreduce
	kExscan
	kSplit
	kSplitNode
	kShare
	kNewWindow
	kFence
	kFree
)

var kindNames = [...]string{"Barrier", "Bcast", "Gather", "Allgather", "Alltoallv", "AllreduceInt64",
	"ExscanInt64", "Split", "SplitNode", "Share", "NewWindow", "Window.Fence", "Window.Free"}

// signature is the part of a collective's arguments that must be equal on all ranks of a round.
type signature struct {
	kind  kind
	op    Op
	root  int
	elems int
	win   *shared
}

func (s signature) String() string {
	switch s.kind {
	case kBcast, kGather:
		return fmt.Sprintf("%s(root %d)", kindNames[s.kind], s.root)
	case kAllreduce, kExscan:
		return fmt.Sprintf("%s(%v, %d elements)", kindNames[s.kind], s.op, s.elems)
	}
	return kindNames[s.kind]
}

// round is a running collective. Each rank's put fills the round under group.mu, and the last rank's finish completes it. The
// round is read-only after done is closed.
type round struct {
	sig     signature
	first   int    // world rank that began the round
	call    string // name of the caller's operation (In)
	arrived int
	here    []uint64 // one bit for each rank that has entered
	failed  bool
	done    chan struct{}

	// Data of a collective:
	parts [][]byte   // by rank, or only the part of root
	rows  [][][]byte // for Alltoallv: parts by sender
	ints  []int64
	vals  []any
	keys  []splitKey
	subs  []member // for Split: members by rank
	win   *shared
}

// enter takes part in a collective. put adds this rank's part, and the last rank runs finish. Both run under the lock of the
// group while the other ranks wait.
func (m *member) enter(ctx context.Context, s signature, put, finish func(*round)) (*round, error) {
	g, w := m.g, m.g.w
	if err := w.broken(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		w.failCtx(m.world, ctx)
		return nil, w.pendingErr(m.world)
	}
	if g.n == 1 {
		r := &round{sig: s}
		put(r)
		finish(r)
		return r, nil
	}

	g.mu.Lock()
	r := g.cur
	if r == nil {
		r = &round{sig: s, first: m.world, call: calls.Of(ctx), done: make(chan struct{}), here: make([]uint64, (g.n+63)/64)}
		if err := g.begin(r); err != nil {
			g.mu.Unlock()
			return nil, w.failErr(err)
		}
	} else if call := calls.Of(ctx); r.sig != s || call != "" && r.call != "" && call != r.call {
		g.mu.Unlock()
		return nil, w.failErr(mismatch(r, m.world, s, call))
	}
	put(r)
	r.arrived++
	r.here[m.rank/64] |= 1 << (m.rank % 64)
	if r.arrived == g.n {
		finish(r)
		g.end()
		g.mu.Unlock()
		close(r.done)
		return r, nil
	}
	w.sleep()
	g.mu.Unlock()

	// The context of the run needs no select here: when it ends, fail closes r.done.
	if d := ctx.Done(); d == nil || d == w.done {
		<-r.done
	} else {
		select {
		case <-r.done:
		case <-d:
			w.failCtx(m.world, ctx)
			<-r.done // wait: the round may be complete, or a failure ends it
		}
	}
	if r.failed {
		return nil, w.pendingErr(m.world)
	}
	return r, nil
}

// begin begins a round. It fails if the round can never be complete. g.mu is held.
func (g *group) begin(r *round) error {
	w := g.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.broken(); err != nil {
		return err
	}
	if gone := g.gone(); gone >= 0 {
		return fmt.Errorf("%w: rank %d is missing in %s", ErrExited, gone, calls.Within(r.call, r.sig.String()))
	}
	w.open[g] = struct{}{}
	g.cur = r
	return nil
}

// end removes a complete round. g.mu is held.
func (g *group) end() {
	g.cur = nil
	g.w.mu.Lock()
	delete(g.w.open, g)
	g.w.mu.Unlock()
	g.w.wake(g.n - 1)
}

// missing lists up to most world ranks that have not entered the round. g.mu is held.
func (g *group) missing(r *round, most int) string {
	var s []string
	for i := range g.n {
		if r.here[i/64]&(1<<(i%64)) != 0 {
			continue
		}
		if len(s) == most {
			return strings.Join(s, ", ") + ", ..."
		}
		s = append(s, fmt.Sprintf("rank %d", g.worldRank(i)))
	}
	return strings.Join(s, ", ")
}

// mismatch returns the error of a rank that enters a round with another signature.
func mismatch(r *round, rank int, s signature, call string) error {
	one, two := r.sig.String(), s.String()
	if one == two && r.sig != s { // the same collective on different windows
		one, two = one+" of one window", two+" of another"
	}
	return fmt.Errorf("%w: rank %d is in %s, rank %d in %s", ErrMismatch, r.first, calls.Within(r.call, one), rank, calls.Within(call, two))
}
