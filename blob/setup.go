package blob

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

// setup deals ranks to subfiles and works out where everything lies. What a rank meets at the end, alone, is the error mine, still
// to be agreed on. Collective.
func (w *Writer) setup(ctx context.Context, runs [][]decomp.Req) (mine, err error) {
	grp, err := subfile.Assign(ctx, w.c, w.opt.Grouping, w.opt.Subfiles)
	if err != nil {
		return nil, err
	}
	w.sub = grp.Comm
	w.info.ranks, w.info.subfiles = w.c.Size(), grp.N
	told, node, err := w.tell(ctx, runs)
	if err != nil {
		return nil, err
	}
	vals, err := share(ctx, w.sub, &rankRow{w.sub.Rank(), runs})
	if err != nil {
		return nil, err
	}
	// Only the leader walks over all ranks: with 21,600 of them a walk by each is
	// what takes the time.
	w.lead = leader(vals) == w.sub.Rank()
	var t *team
	o := w.opt
	if w.lead {
		if t = w.team(told, node); !t.one() && o.Compress.Method == NoCompression {
			// What each rank of many writes passes through memory that stays in its core's cache, by as
			// many threads as there are for each: new pages would cost as much as the writing.
			o.Buffer, o.Workers = min(o.Buffer, int(max(ownBuffer, o.Stripe.Size))), max(1, o.Workers/len(t.members))
		}
	}
	proc, err := shareOne(ctx, w.c, func() *process { return newProcess(&o) })
	if err != nil {
		return nil, err
	}
	if w.lead {
		var rows []*rankRow
		for _, v := range vals {
			if v != nil {
				rows = append(rows, v.(*rankRow))
			}
		}
		sh := newShape(t.all, w.schema, o.WideMaps)
		sh.Ranks, sh.Subfiles = w.c.Size(), grp.N
		if w.eng, mine = newEngine(&o, proc, w.schema, sh, t, rows); mine == nil {
			w.eng.index = grp.Index
		}
	}
	engs, err := share(ctx, w.sub, w.eng)
	if err != nil {
		return nil, err
	}
	w.eng = engs[leader(engs)].(*engine)
	return mine, nil
}

// told is what the ranks of a subfile tell each other, each: its elements by map, its requests by map, and its
// node, as the lowest sub rank there; 8 bytes each.
type told [][]byte

func (a told) value(j, k int) int64 { return int64(binary.LittleEndian.Uint64(a[j][8*k:])) }

// tell counts the elements of this rank, and learns what the others of its subfile have. node is of the ranks of this node,
// if they share no heap. Collective.
func (w *Writer) tell(ctx context.Context, runs [][]decomp.Req) (a told, node comm.Comm, err error) {
	nd := len(w.schema.decomps)
	w.counts = make([]int64, nd)
	mine := make([]int64, 2*nd+1)
	for d, rr := range runs {
		for _, r := range rr {
			w.counts[d] += r.Length
		}
		mine[d], mine[nd+d] = w.counts[d], int64(len(rr))
	}
	if comm.Apart(w.c) {
		if node = w.sub; w.opt.Grouping != subfile.ByNode {
			if node, err = w.sub.SplitNode(ctx); err != nil {
				return nil, nil, err
			}
			if node.Size() < w.sub.Size() { // otherwise it is 0, for all
				low, err := node.AllreduceInt64(ctx, []int64{int64(w.sub.Rank())}, comm.Min)
				if err != nil {
					return nil, nil, err
				}
				mine[2*nd] = low[0]
			}
		}
	}
	b := make([]byte, 0, 8*len(mine))
	for _, v := range mine {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	a, err = w.sub.Allgather(ctx, b)
	return a, node, err
}

// team is the team of this process's engine.
func (w *Writer) team(a told, node comm.Comm) *team {
	nd := len(w.schema.decomps)
	all := tableOf(len(a), nd, func(j, d int) (count, nreqs int64) { return a.value(j, d), a.value(j, nd+d) })
	if node == nil {
		return &team{all: all}
	}
	if w.opt.Stripe.Size > 0 || w.opt.Compress.on() {
		node = w.sub
	}
	var members []int
	var homes []int64
	for j := range a {
		if home := a.value(j, 2*nd); node == w.sub || home == a.value(w.sub.Rank(), 2*nd) {
			members, homes = append(members, j), append(homes, home)
		}
	}
	return newTeam(node, all, members, homes, &w.opt.Options)
}

// tableOf is the table of all n blobs of a subfile; of says how many elements and requests of map d blob j has.
func tableOf(n, nd int, of func(j, d int) (count, nreqs int64)) *layout.Ranks {
	t := layout.NewRanks(n, nd)
	for j := range n {
		t.ID[j] = j
		for d := range nd {
			k := j*nd + d
			t.Count[k], t.Nreqs[k] = of(j, d)
			if j > 0 {
				t.Start[k], t.Reqs[k] = t.Start[k-nd]+t.Count[k-nd], t.Reqs[k-nd]+t.Nreqs[k-nd]
			}
		}
	}
	return t
}

// newShape says what the header of a subfile with these blobs does, but for how many ranks and subfiles there are in all.
func newShape(all *layout.Ranks, s *Schema, wide bool) *layout.Shape {
	nd := len(s.decomps)
	sh := &layout.Shape{Blobs: len(all.ID), Elems: make([]int64, nd), MaxReqs: make([]int64, nd), Wide: make([]bool, nd)}
	for k, n := range all.Count {
		d := k % nd
		sh.Elems[d] += n
		sh.MaxReqs[d] = max(sh.MaxReqs[d], all.Nreqs[k])
	}
	for d := range nd {
		sh.Wide[d] = wide && product(s.DecompDims(DecompID(d+1))) > math.MaxInt32
	}
	return sh
}

// rankRow is what one rank tells the leader of its process.
type rankRow struct {
	sub  int // sub rank
	runs [][]decomp.Req
}

// newEngine makes the engine of some ranks of a subfile, ascending.
func newEngine(o *settings, proc *process, s *Schema, sh *layout.Shape, t *team, rows []*rankRow) (*engine, error) {
	nd := len(s.decomps)
	e := &engine{opt: *o, proc: proc, schema: s, team: t, table: t.all}
	if len(rows) < len(t.all.ID) {
		e.table = layout.NewRanks(len(rows), nd)
		for i, r := range rows {
			e.table.ID[i] = r.sub
			from, to := r.sub*nd, (r.sub+1)*nd
			copy(e.table.Count[i*nd:], t.all.Count[from:to])
			copy(e.table.Nreqs[i*nd:], t.all.Nreqs[from:to])
			copy(e.table.Start[i*nd:], t.all.Start[from:to])
			copy(e.table.Reqs[i*nd:], t.all.Reqs[from:to])
		}
	}
	for d := range nd {
		b := decomp.NewBuilder(s.DecompDims(DecompID(d+1)), len(rows))
		for i, r := range rows {
			if err := b.Set(i, r.runs[d]); err != nil {
				return nil, fmt.Errorf("decomposition D%d of sub rank %d: %w", d+1, r.sub, err)
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, fmt.Errorf("decomposition D%d: %w", d+1, err)
		}
		e.maps = append(e.maps, m)
	}
	if e.pack = newPacker(o, s); e.pack != nil {
		sh.Chunk = o.chunk
	}
	hdr := s.blobHeader(sh)
	if err := hdr.Layout(nil); err != nil {
		return nil, err
	}
	e.place = newPlace(o.Layout, e.pack != nil, 0)
	e.place.setHeader(hdr, hdr.EncodedLen(), s, sh)
	e.init()
	return e, nil
}
