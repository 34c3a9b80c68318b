package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

// Setup deals ranks to subfiles and works out where everything lies. What a rank meets at the end, alone, is the error mine, still
// to be agreed on. Collective.
func (job *Job) Setup(ctx context.Context, runs [][]decomp.Req) (mine, err error) {
	grp, err := subfile.Assign(ctx, job.C, job.Opt.Grouping, job.Opt.Subfiles)
	if err != nil {
		return nil, err
	}
	job.sub = grp.Comm
	job.Ranks, job.Subfiles = job.C.Size(), grp.N
	told, node, err := job.tell(ctx, runs)
	if err != nil {
		return nil, err
	}
	vals, err := dataset.Share(ctx, job.sub, &RankRow{job.sub.Rank(), runs})
	if err != nil {
		return nil, err
	}
	// Only the leader walks over all ranks: with 21,600 of them a walk by each is
	// what takes the time.
	job.Lead = dataset.Leader(vals) == job.sub.Rank()
	var t *Team
	o := job.Opt
	if job.Lead {
		if t = job.team(told, node); !t.one() && o.Compress.Method == dataset.NoCompression {
			// What each rank of many writes passes through memory that stays in its core's cache, by as
			// many threads as there are for each: new pages would cost as much as the writing.
			o.Buffer, o.Workers = min(o.Buffer, int(max(ownBuffer, o.Stripe.Size))), max(1, o.Workers/len(t.members))
		}
	}
	proc, err := dataset.ShareOne(ctx, job.C, func() *Process { return NewProcess(&o) })
	if err != nil {
		return nil, err
	}
	if job.Lead {
		var rows []*RankRow
		for _, v := range vals {
			if v != nil {
				rows = append(rows, v.(*RankRow))
			}
		}
		sh := NewShape(t.All, job.Schema, o.WideMaps)
		sh.Ranks, sh.Subfiles = job.C.Size(), grp.N
		if job.Eng, mine = NewEngine(&o, proc, job.Schema, sh, t, rows); mine == nil {
			job.Eng.File.Index = grp.Index
		}
	}
	engs, err := dataset.Share(ctx, job.sub, job.Eng)
	if err != nil {
		return nil, err
	}
	job.Eng = engs[dataset.Leader(engs)].(*Engine)
	return mine, nil
}

// told is what the ranks of a subfile tell each other, each: its elements by map, its requests by map, and its
// node, as the lowest sub rank there; 8 bytes each.
type told [][]byte

func (a told) value(j, k int) int64 { return int64(binary.LittleEndian.Uint64(a[j][8*k:])) }

// tell counts the elements of this rank, and learns what the others of its subfile have. node is of the ranks of this node,
// if they share no heap. Collective.
func (job *Job) tell(ctx context.Context, runs [][]decomp.Req) (a told, node comm.Comm, err error) {
	nd := len(job.Schema.Decomps)
	job.counts = make([]int64, nd)
	mine := make([]int64, 2*nd+1)
	for d, rr := range runs {
		for _, r := range rr {
			job.counts[d] += r.Length
		}
		mine[d], mine[nd+d] = job.counts[d], int64(len(rr))
	}
	if comm.Apart(job.C) {
		if node = job.sub; job.Opt.Grouping != subfile.ByNode {
			if node, err = job.sub.SplitNode(ctx); err != nil {
				return nil, nil, err
			}
			if node.Size() < job.sub.Size() { // otherwise it is 0, for all
				low, err := node.AllreduceInt64(ctx, []int64{int64(job.sub.Rank())}, comm.Min)
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
	a, err = job.sub.Allgather(ctx, b)
	return a, node, err
}

// team is the team of this process's engine.
func (job *Job) team(a told, node comm.Comm) *Team {
	nd := len(job.Schema.Decomps)
	all := TableOf(len(a), nd, func(j, d int) (count, nreqs int64) { return a.value(j, d), a.value(j, nd+d) })
	if node == nil {
		return &Team{All: all}
	}
	if job.Opt.Stripe.Size > 0 || job.Opt.Compress.On() {
		node = job.sub
	}
	var members []int
	var homes []int64
	for j := range a {
		if home := a.value(j, 2*nd); node == job.sub || home == a.value(job.sub.Rank(), 2*nd) {
			members, homes = append(members, j), append(homes, home)
		}
	}
	return newTeam(node, all, members, homes, &job.Opt.Options)
}

// TableOf is the table of all n blobs of a subfile; of says how many elements and requests of map d blob j has.
func TableOf(n, nd int, of func(j, d int) (count, nreqs int64)) *layout.Ranks {
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

// NewShape says what the header of a subfile with these blobs does, but for how many ranks and subfiles there are in all.
func NewShape(all *layout.Ranks, s *dataset.Schema, wide bool) *layout.Shape {
	nd := len(s.Decomps)
	sh := &layout.Shape{Blobs: len(all.ID), Elems: make([]int64, nd), MaxReqs: make([]int64, nd), Wide: make([]bool, nd)}
	for k, n := range all.Count {
		d := k % nd
		sh.Elems[d] += n
		sh.MaxReqs[d] = max(sh.MaxReqs[d], all.Nreqs[k])
	}
	for d := range nd {
		sh.Wide[d] = wide && dataset.Product(s.DecompDims(dataset.DecompID(d+1))) > math.MaxInt32
	}
	return sh
}

// RankRow is what one rank tells the leader of its process.
type RankRow struct {
	Sub  int // sub rank
	Runs [][]decomp.Req
}

// NewEngine makes the engine of some ranks of a subfile, ascending.
func NewEngine(o *dataset.Settings, proc *Process, s *dataset.Schema, sh *layout.Shape, t *Team, rows []*RankRow) (*Engine, error) {
	nd := len(s.Decomps)
	opt, l := *o, &Layout{Schema: s, All: t.All, Table: t.All}
	if len(rows) < len(t.All.ID) {
		l.Table = layout.NewRanks(len(rows), nd)
		for i, r := range rows {
			l.Table.ID[i] = r.Sub
			from, to := r.Sub*nd, (r.Sub+1)*nd
			copy(l.Table.Count[i*nd:], t.All.Count[from:to])
			copy(l.Table.Nreqs[i*nd:], t.All.Nreqs[from:to])
			copy(l.Table.Start[i*nd:], t.All.Start[from:to])
			copy(l.Table.Reqs[i*nd:], t.All.Reqs[from:to])
		}
	}
	for d := range nd {
		b := decomp.NewBuilder(s.DecompDims(dataset.DecompID(d+1)), len(rows))
		for i, r := range rows {
			if err := b.Set(i, r.Runs[d]); err != nil {
				return nil, fmt.Errorf("decomposition D%d of sub rank %d: %w", d+1, r.Sub, err)
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, fmt.Errorf("decomposition D%d: %w", d+1, err)
		}
		l.Maps = append(l.Maps, m)
	}
	if o.Compress.On() {
		sh.Chunk = o.Chunk
	}
	if err := l.begin(o, sh); err != nil {
		return nil, err
	}
	return newEngine(&opt, proc, t, l), nil
}
