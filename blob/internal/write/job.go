package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/durable"
	"blobio/internal/subfile"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"blobio/blob/internal/lease"
	"blobio/blob/internal/process"
)

// Unfinished adds to an error after the commit that the commit is in force. Each rank calls Unfinished twice: before the agreement
// on the error, and afterwards, because other ranks receive only the text.
func (job *Job) Unfinished(err error) error {
	if err == nil || errors.As(err, new(*dataset.UnfinishedError)) {
		return err
	}
	return &dataset.UnfinishedError{Base: job.Base, Err: err}
}

// inDoubt wraps an error in an error that says that the commit may be in force.
func (job *Job) inDoubt(err error) error {
	if errors.As(err, new(*dataset.InDoubtError)) {
		return err
	}
	return &dataset.InDoubtError{Base: job.Base, Err: err}
}

// apart reports whether each rank has an engine of its own, because ranks share no heap. Such ranks send each other the lists of
// their puts.
func (job *Job) apart() bool { return job.Eng != nil && job.Eng.team.C != nil }

// keepsCopies reports whether copies of puts live until Close.
func (job *Job) keepsCopies() bool {
	return job.Opt.Keeps() && job.Opt.Retain == dataset.CopyOnPut
}

// putLen returns the number of elements of a variable's record on this rank.
func (job *Job) putLen(v dataset.VarID) int64 {
	if d := job.Schema.Vars[v].Decomp; d != 0 {
		return job.counts[d-1]
	}
	return job.Schema.Elems(v)
}

// Prints returns this process's part of the fingerprints of the maps. An append compares fingerprints to find out whether its maps
// are the same. A fingerprint is a sum over ranks of a hash of the rank's requests and number, so no process needs the data of all
// ranks. The number is (subfile, sub rank), because an append knows it, unlike the world rank.
func (job *Job) Prints() []int64 {
	sums := make([]int64, len(job.Schema.Decomps))
	if job.Lead {
		for d := range sums {
			sums[d] = dataset.MapPrint(job.Eng.Layout.Maps[d], job.Eng.Layout.Table, job.Eng.File.Index)
		}
	}
	return sums
}

// Setup assigns ranks to subfiles and computes all file offsets. mine is an error of this rank alone; the caller must agree on it
// with the other ranks. Collective.
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
	// Only the leader loops over all ranks: with 21,600 ranks a loop on each rank would dominate the time.
	job.Lead = dataset.Leader(vals) == job.sub.Rank()
	var t *Team
	o := job.Opt
	if job.Lead {
		if t = job.team(told, node); !t.one() && o.Compress.Method == dataset.NoCompression {
			// With many ranks in a process, the bytes of each rank pass through a buffer that fits into the cache of a core.
			// Touching new pages would cost as much as the writes.
			o.Buffer, o.Workers = min(o.Buffer, int(max(ownBuffer, o.Stripe.Size))), max(1, o.Workers/len(t.members))
		}
	}
	proc, err := dataset.ShareOne(ctx, job.C, func() *process.Process { return process.NewProcess(&o) })
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

// told has one message for each rank of a subfile: the rank's elements by map, its requests by map, and the lowest sub rank on its
// node; 8 bytes each.
type told [][]byte

func (a told) value(j, k int) int64 { return int64(binary.LittleEndian.Uint64(a[j][8*k:])) }

// tell counts the elements of this rank and receives the counts of the other ranks of its subfile. If the ranks share no heap,
// node connects the ranks of this node. Collective.
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
			if node.Size() < job.sub.Size() { // otherwise all ranks are on one node, which has number 0
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

// team returns the team of this process's engine.
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

// TableOf returns the table of all n blobs of a subfile. of returns the numbers of elements and requests of blob j in map d.
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

// NewShape returns the shape of a subfile with these blobs. The caller sets the total numbers of ranks and subfiles.
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

// RankRow is what a rank sends to the leader of its process.
type RankRow struct {
	Sub  int // sub rank
	Runs [][]decomp.Req
}

// Acquire takes the lease of the dataset. Only world rank 0 takes it.
func (job *Job) Acquire(ctx context.Context, base string) (err error) {
	// Acquire checks the longest name first, because Create must not begin if the file system rejects it.
	longest := subfile.PartialBy(subfile.NextName(base), durable.TagOf(durable.NewID()))
	if len(filepath.Base(longest)) <= anyName && len(longest) <= anyPath {
		// A name that is short enough for every file system needs no lookup, which would cost a message on a network file system.
	} else if _, err := job.Opt.Fs.Stat(longest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the dataset name is too long, because its writer needs file names that are %d bytes longer: %w", len(longest)-len(base), err)
	}
	job.Ten, err = lease.Hold(ctx, &job.Opt, base)
	return err
}

// Share lets other processes join the lease if they will write under final names. World rank 0 calls it.
func (job *Job) Share() error {
	if !comm.Apart(job.C) {
		return nil
	}
	return job.Ten.Lease.Share()
}

// Serve gives this rank a share in the lease of world rank 0.
func (job *Job) Serve(words []int64) {
	if job.C.Rank() != 0 {
		job.Ten = lease.Serve(job.Opt.Fs, job.Base, lease.IdOf(words), comm.Apart(job.C))
	}
}

// Job describes what a rank writes, and the ranks it writes with.
type Job struct {
	C, sub          comm.Comm
	Schema          *dataset.Schema
	Eng             *Engine
	Lead            bool // this rank calls the engine for the ranks of its process
	Base            string
	Opt             dataset.Settings
	Ranks, Subfiles int
	Ten             *lease.Tenure
	Limit           int64   // the value of Options.Records
	counts          []int64 // elements of this rank, by map
}

// Count is blob.Writer.Count.
func (job *Job) Count(d dataset.DecompID) int64 { return job.counts[d-1] }

// Copies is blob.Writer.Copies.
func (job *Job) Copies() (bytes, limit int64) {
	if job.Eng == nil {
		return 0, job.Opt.Memory
	}
	p := job.Eng.Proc
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Used, p.Max
}

// Names of up to these lengths in bytes, without and with their directory, are valid on every file system. Encrypted file systems
// allow only names of 143 bytes.
const anyName, anyPath = 140, 1000
