package blob

import (
	"context"
	"encoding/binary"
	"slices"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/subfile"
)

// From these mean sizes on, in bytes, each rank writes its own: of the ranks' pieces of a variable (or with the
// process-centric layout of all that they put). Measured with processes on two cores and tmpfs:
// from 4 KiB on one's own are as fast as windows or faster, but for one case in twelve. For messages see BenchmarkIsolated.
const (
	ownMinShared   = 4 << 10
	ownMinMessages = 64 << 10
)

// Sizes of what bytes pass through: the buffer of a rank that writes its own, and at most a window. Small ones stay in a
// cache, and need no new pages.
const (
	ownBuffer = 256 << 10
	maxWindow = 1 << 20
)

// ownMin is the size that holds for this team.
func (t *team) ownMin(o *settings) int64 {
	switch {
	case o.ownMin > 0:
		return o.ownMin
	case t.mem != nil:
		return ownMinShared
	}
	return ownMinMessages
}

// aggregators is how many of n processes of a node are aggregators.
func (o *Options) aggregators(n int) int {
	if o.Aggregators > 0 {
		return min(o.Aggregators, n)
	}
	return max(1, min(n/4, 4))
}

// team is how an engine works with those of other ranks of its subfile where no two
// ranks share a heap. What is small goes to the aggregators, in rounds, into
// windows: parts of the file, disjoint, in which an aggregator has everything that the team writes.
// What is large each rank writes itself.
type team struct {
	c       comm.Comm
	all     *layout.Ranks // of every rank of the subfile
	members []int         // sub ranks, by rank of c, ascending
	total   []int64       // elements of all members, by map from 0
	block   bool          // the members are consecutive
	aggs    []int         // ranks of c that are aggregators
	slot    int           // which of them this one is, or -1
	window  int64         // bytes of a window at most

	asked   bool // for shared memory
	mem     comm.Memory
	windows []byte // without shared memory: an aggregator's window
}

// setupApart is setup for ranks that share no heap: each tells all of its
// subfile how much it has.
func (w *Writer) setupApart(ctx context.Context, grp subfile.Group, row *rankRow) (broken, err error) {
	nd := len(w.schema.decomps)
	node, home := w.sub, int64(0)
	if w.opt.Grouping != subfile.ByNode { // home is the lowest sub rank of the node
		if node, err = w.sub.SplitNode(ctx); err != nil {
			return err, nil
		}
		low, err := node.AllreduceInt64(ctx, []int64{int64(w.sub.Rank())}, comm.Min)
		if err != nil {
			return err, nil
		}
		home = low[0]
	}
	b := make([]byte, 0, 8*(2*nd+1))
	for _, v := range slices.Concat(row.counts, row.nreqs, []int64{home}) {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	rows, err := w.sub.Allgather(ctx, b)
	if err != nil {
		return err, nil
	}
	t := &team{c: node, all: layout.NewRanks(len(rows), nd), total: make([]int64, nd), slot: -1}
	if w.opt.Stripe.Size > 0 || w.opt.Compress.on() {
		t.c = w.sub
	}
	var homes []int64 // of the members
	below, most := make([]int64, 2*nd), make([]int64, nd)
	for j, r := range rows {
		value := func(k int) int64 { return int64(binary.LittleEndian.Uint64(r[8*k:])) }
		if j == w.sub.Rank() {
			row.below = slices.Clone(below)
		}
		member := t.c == w.sub || value(2*nd) == home
		if member {
			t.members, homes = append(t.members, j), append(homes, value(2*nd))
		}
		t.all.ID[j] = j
		for d := range nd {
			k := j*nd + d
			t.all.Count[k], t.all.Nreqs[k] = value(d), value(nd+d)
			t.all.Start[k], t.all.Reqs[k] = below[d], below[nd+d]
			below[d], below[nd+d] = below[d]+value(d), below[nd+d]+value(nd+d)
			most[d] = max(most[d], value(nd+d))
			if member {
				t.total[d] += value(d)
			}
		}
	}
	t.block = t.members[len(t.members)-1]-t.members[0] == len(t.members)-1
	t.choose(homes, &w.opt.Options)
	w.lead = true
	o := w.opt
	if n := len(t.members); n > 1 && o.Compress.Method == NoCompression {
		// What each rank of many writes passes through memory that stays in its core's cache, by as
		// many threads as there are for each: new pages would cost as much as the writing.
		o.Buffer, o.Workers = min(o.Buffer, ownBuffer), max(1, o.Workers/n)
	}
	w.eng, err = newEngine(&o, newProcess(&o), w.schema, w.shape(grp, below[:nd:nd], most), []*rankRow{row})
	if err == nil {
		w.eng.index, w.eng.team = grp.Index, t
		if w.eng.pack != nil {
			w.eng.pack.sub = w.sub
		}
	}
	return nil, err
}

// choose finds the aggregators: on each node as many as asked for, spread over its ranks. If the file has
// fewer servers than that, each gets an equal number of them.
func (t *team) choose(homes []int64, o *Options) {
	t.window = min(int64(o.Buffer), maxWindow)
	var order []int64
	nodes := map[int64][]int{}
	for r, h := range homes {
		if nodes[h] == nil {
			order = append(order, h)
		}
		nodes[h] = append(nodes[h], r)
	}
	for _, h := range order {
		l := nodes[h]
		n := o.aggregators(len(l))
		for k := range n {
			t.aggs = append(t.aggs, l[k*len(l)/n])
		}
	}
	if n := o.Stripe.Count; n > 0 && len(t.aggs) > n {
		k := len(t.aggs) / n * n
		for i := range k {
			t.aggs[i] = t.aggs[i*len(t.aggs)/k]
		}
		t.aggs = t.aggs[:k]
	}
	t.window = max(t.window, o.Stripe.Size)
	t.slot = slices.Index(t.aggs, t.c.Rank())
}

// placeApart is place without communication: the sizes of all blobs follow from what setup told.
func (w *Writer) placeApart(records int64) error {
	if !w.unplaced() {
		return nil
	}
	w.placed = true
	e, all := w.eng, w.eng.team.all
	var err error
	if e.meta, err = e.place.Settle(all, records-w.first); err == nil {
		e.table.Blob[0] = all.Blob[w.sub.Rank()]
	}
	return err
}

// writeTeam brings puts to the file, and the map variables before the first; it leaves the writing to l, if it is there. keys are what is put,
// by this rank or by another of its subfile for it; same says what others put. A rank that has met
// an error takes part with nothing to write, and so all others can go on. Collective.
func (e *engine) writeTeam(ctx context.Context, list []pend, keys []varRec, same alike, l *later, err error) error {
	if e.pack != nil {
		return e.writePackedTeam(ctx, list, l, err)
	}
	maps := e.mapPends()
	sets := [][]varRec{keys}
	var broken error
	switch same {
	case notAlike:
		sets, broken = e.team.exchangeKeys(ctx, keys)
	case partsAlike:
		sets[0], broken = e.wholeKeys(ctx, keys)
	}
	if broken != nil {
		return broken
	}
	for i, keys := range sets {
		all := make([]varRec, 0, len(maps)+len(keys))
		for _, m := range maps {
			all = append(all, varRec{v: m.v})
		}
		sets[i] = append(all, keys...)
	}
	if broken := e.team.memory(ctx, &e.opt); broken != nil {
		return broken
	}
	p := e.newPlan(sets)
	var q *queue
	if err == nil {
		e.note([][]pend{list})
		q = newQueue(e, [][]pend{list}, maps)
		if err = e.allocateFor(sets); err == nil && l == nil {
			err = p.writeOwn(ctx, q)
		} else if err == nil && (p.ownAll || p.own != nil) {
			own := *q // the exchange needs q
			l.own <- func(ctx context.Context) (int64, error) { err := p.writeOwn(ctx, &own); return own.bytes, err }
		}
	}
	if l != nil {
		l.onlyWindows()
	}
	e.mapsOut = true
	return p.exchange(ctx, q, l, err)
}

// allocateFor reserves the space up to the end of what is written, on the first rank of the subfile.
func (e *engine) allocateFor(sets [][]varRec) error {
	end := int64(0)
	if e.table.ID[0] == 0 {
		for _, keys := range sets {
			for _, k := range keys {
				end = max(end, e.extentEnd(k))
			}
		}
	}
	if end <= e.end {
		return nil
	}
	f, done, err := e.file()
	if err != nil {
		return err
	}
	defer done()
	if err := f.Allocate(e.end, end-e.end); err != nil {
		return err
	}
	e.end = end
	return nil
}

// extentEnd is where the file must reach for a variable's record of all ranks.
func (e *engine) extentEnd(k varRec) int64 {
	v := int(-1 - k.v)
	if k.v >= 0 {
		v = e.place.fileVar(VarID(k.v))
	}
	if off, ok := e.place.Whole(v, k.rec); ok {
		return off + e.place.ExtentBytes(v, nil)
	}
	return e.place.FileSize(0)
}
