package write

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
)

// ownBuffer is the buffer size of a rank that writes its own data; maxWindow limits a window. Small buffers stay in a cache and
// need no new pages.
const (
	ownBuffer = 256 << 10
	maxWindow = 1 << 20
)

// Team is the engines that plan and write their ranks' puts together. Ranks that share a heap have one engine, which is a team of
// one member: it holds all pieces and writes them. If no two ranks share a heap, each rank has an engine, and the engines of a
// node are a team. Each rank of such a team writes its large pieces itself. Small pieces go to aggregators, which write them in
// rounds. A window is a range of the file in which one aggregator writes all the team's data.
type Team struct {
	All     *layout.Ranks // blobs of every rank of the subfile
	C       comm.Comm     // the ranks, if they share no heap, otherwise nil; the following fields are set only with C
	members []int         // sub ranks, by rank of C, ascending
	total   []int64       // elements of all members together, by map
	block   bool          // the members are consecutive sub ranks
	Aggs    []int         // ranks of C that are aggregators
	Slot    int           // index of this rank in Aggs, or -1
	window  int64         // maximum size of a window

	asked   bool // shared memory was requested
	mem     comm.Memory
	windows []byte // an aggregator's window, if there is no shared memory
}

// newTeam makes the team of the ranks of c, which share no heap. homes are the nodes of the ranks.
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

// one reports whether the team has one member, which writes all its data without communication.
func (t *Team) one() bool { return len(t.members) <= 1 }

// Choose selects the aggregators: the requested number on each node, spread over the ranks of the node. If the file has fewer
// servers than aggregators, each server gets the same number of them.
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
	// Aggregators are taken from the nodes in turn. The aggregators of one file server lie on as few nodes as possible, because
	// each node takes locks away from the others.
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

// If Options.OwnMin is 0, each rank writes its own data from these mean sizes on, in bytes. The mean is over the ranks' pieces of
// a variable, or with the process-centric layout over all puts of a rank. Each write takes the lock of the file. For smaller data
// the lock costs more than the copy into a window.
const (
	ownMinShared   = 128 << 10
	ownMinMessages = 64 << 10
)

// ownMin returns the minimum mean size for the next flush. The first flush finds out whether the team has shared memory.
func (t *Team) ownMin(o *dataset.Settings) int64 {
	least := int64(ownMinShared)
	if t.mem == nil && (t.asked || o.Messages) {
		least = ownMinMessages
	}
	return cmp.Or(o.OwnMin, least)
}

type varRec struct {
	v   int32
	rec int64
}

// alike describes how far the ranks have put the same variables and records.
type alike uint8

const (
	notAlike   alike = iota
	partsAlike       // the same keys with a decomposition; of the other variables, only puts of sub rank 0 have bytes
	allAlike
)

// hashWords is the number of words that hashKeys returns.
const hashWords = 4

// hashKeys returns the words for alikeOf, to be agreed on by Min. Two are a hash of the keys with a decomposition and its
// complement; the last bit is set if this rank's undivided words do not count. The other two are undivided: undividedWords, or
// wholeKeyWords if only keys count. e may be nil if there are no keys.
func (e *Engine) hashKeys(keys []varRec, undivided [2]int64) []int64 {
	parts := uint64(dataset.HashOdd)
	for _, k := range keys {
		if k.v >= 0 && e.Layout.Schema.Vars[k.v].Decomp != 0 {
			parts = dataset.HashAdd(dataset.HashAdd(parts, uint64(k.v)), uint64(k.rec))
		}
	}
	a := int64(parts>>1) &^ 1
	if undivided[0] == noSay {
		a |= 1
	}
	return []int64{a, ^a, undivided[0], undivided[1]}
}

func alikeOf(v []int64) alike {
	switch most := ^v[1]; {
	case v[0]|1 != most|1:
		return notAlike
	case v[2] == ^v[3] && (most&1 == 0 || v[2] == noUndivided):
		return allAlike
	}
	return partsAlike
}

// undividedDiffer reports, from the words that the ranks agreed on, whether some rank has put values of undivided variables that
// the first ranks of all subfiles have not put.
func undividedDiffer(v []int64) bool { return v[2] != ^v[3] }

// keyBytes is the size of an encoded key.
const keyBytes = 12

func encodeKeys(keys []varRec) []byte {
	b := make([]byte, 0, keyBytes*len(keys))
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint32(b, uint32(k.v))
		b = binary.LittleEndian.AppendUint64(b, uint64(k.rec))
	}
	return b
}

func appendKeys(keys []varRec, b []byte) []varRec {
	for ; len(b) >= keyBytes; b = b[keyBytes:] {
		keys = append(keys, varRec{int32(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint64(b[4:]))})
	}
	return keys
}

// keySets lists the keys of each member, including map variables. If all members have the same keys, it returns one list. For a
// team of one member it returns nil.
func (e *Engine) keySets(ctx context.Context, maps []Pend, b Flushing) (sets [][]varRec, err error) {
	switch {
	case e.team.one():
		return nil, nil
	case b.alike == notAlike:
		sets, err = e.team.exchangeKeys(ctx, b.keys)
	case b.alike == partsAlike:
		b.keys, err = e.wholeKeys(ctx, b.keys)
		fallthrough
	default:
		sets = [][]varRec{b.keys}
	}
	for i, keys := range sets {
		all := make([]varRec, 0, len(maps)+len(keys))
		for _, m := range maps {
			all = append(all, varRec{v: m.V})
		}
		sets[i] = append(all, keys...)
	}
	return sets, err
}

// exchangeKeys sends the keys of each member to all members.
func (t *Team) exchangeKeys(ctx context.Context, keys []varRec) ([][]varRec, error) {
	all, err := t.C.Allgather(ctx, encodeKeys(keys))
	if err != nil {
		return nil, err
	}
	sets := make([][]varRec, len(all))
	for i, b := range all {
		sets[i] = appendKeys(nil, b)
	}
	return sets, nil
}

// wholeKeys returns the keys of all members that have bytes, for the case that all members put the same variables with a
// decomposition. These are the keys with a decomposition, and the keys without one that sub rank 0 puts.
func (e *Engine) wholeKeys(ctx context.Context, keys []varRec) ([]varRec, error) {
	var parts, whole []varRec
	for _, k := range keys {
		if e.Layout.Schema.Vars[k.v].Decomp != 0 {
			parts = append(parts, k)
		} else {
			whole = append(whole, k)
		}
	}
	if e.team.members[0] != 0 {
		return parts, nil
	}
	b, err := e.team.C.Bcast(ctx, 0, encodeKeys(whole))
	if err != nil {
		return nil, err
	}
	keys = appendKeys(parts, b)
	slices.SortFunc(keys, e.Layout.order)
	return keys, nil
}
