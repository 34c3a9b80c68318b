package cello

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

type job struct {
	c    comm.Comm
	dir  string
	tmp  string
	m    *amr.Meta
	o    Options
	fs   vfs.FS
	yt   string // base name of the files for yt; "": write a checkpoint or dump
	enzo amr.Type
	cols []column

	src   Source
	heap  []any // Source of each rank of this heap, nil for the others
	apart bool  // some ranks do not share a heap

	plan      *plan
	names     []string // names of the files, without suffix
	templates map[int32]*shapeTemplate
	synth     *synth // nil until the first block without an adapt_buffer
	costs     bool
	id        string
	lease     *durable.Lease // lease of dir, on rank 0

	err error // first error of this rank; the ranks agree later
}

// Write writes a checkpoint, or a data dump (see Options), into a new directory dir, whose parent must exist. Write is
// collective: m and o must be equal on all ranks. local has the rank's own blocks and may be empty; it must not change until
// Write returns. Each block must be in local of one rank, and refined blocks are included. Blocks of levels below 0 may be
// omitted.
//
// Write writes into dir.partial, syncs it and then renames it, so dir is absent or whole at any time. ErrExist means that dir
// exists; ErrInUse means that another program is writing it. Errors are the same on all ranks. After an error, Write removes its
// files if the file system still works.
func Write(ctx context.Context, c comm.Comm, dir string, m *amr.Meta, local []*amr.Block, o *Options) error {
	return WriteFrom(ctx, c, dir, m, blocks(local), o)
}

// WriteFrom does the same as Write, but takes the blocks from src, so they need not be in memory at the same time.
func WriteFrom(ctx context.Context, c comm.Comm, dir string, m *amr.Meta, src Source, o *Options) error {
	return newJob(c, dir, m, src).run(ctx, o)
}

func newJob(c comm.Comm, dir string, m *amr.Meta, src Source) *job {
	return &job{c: c, dir: dir, tmp: dir + cellodir.PartialSuffix, m: m, src: src, templates: map[int32]*shapeTemplate{}}
}

func (j *job) run(ctx context.Context, o *Options) error {
	c := j.c
	err := j.prepare(ctx, o)
	var mine []byte
	if err == nil {
		mine, err = j.report(ctx)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return err
	}
	if err := j.makePlan(ctx, mine); err != nil {
		return err
	}
	return j.write(ctx)
}

// prepare checks the arguments.
func (j *job) prepare(_ context.Context, o *Options) (err error) {
	if j.m == nil {
		return fault.Usage("no Meta")
	}
	if j.o, err = o.withDefaults(); err != nil {
		return err
	}
	j.fs = j.o.FS
	if err := j.m.Validate(); err != nil {
		return err
	}
	if j.dir == "" {
		return fault.Usage("no directory")
	}
	if j.enzo = j.o.EnzoFloat; j.enzo == 0 {
		j.enzo = amr.Float64
		for i := range j.m.Fields {
			if t := j.m.Fields[i].Type; t.Float() {
				j.enzo = t
				break
			}
		}
	}
	j.cols, err = columnsOf(j.m, j.o.Fields, j.o.Ghosts)
	for i := range j.cols {
		if j.o.ForEnzoE && j.cols[i].field != nil {
			slices.Reverse(j.cols[i].dims)
		}
	}
	return err
}

// report describes this rank's blocks to rank 0. It first makes all checks that need no data.
func (j *job) report(ctx context.Context) ([]byte, error) {
	var out []byte
	r := report{np: make([]int64, len(j.m.Particles))}
	for i := range j.src.Len() {
		b, err := j.src.Head(ctx, i)
		if err != nil {
			return nil, err
		}
		if b == nil {
			return nil, fault.Usage("block %d of rank %d is nil", i, j.c.Rank())
		}
		if err := counts(j.m, b, r.np); err != nil {
			return nil, err
		}
		for k, n := range r.np {
			if n < 0 || n > 1<<40 {
				return nil, j.blockErr(b, "%d particles of type %s, want 0 to 2^40", n, j.m.Particles[k].Name)
			}
		}
		if math.IsNaN(b.Cost) || math.IsInf(b.Cost, 0) || b.Cost < 0 {
			return nil, j.blockErr(b, "cost %v", b.Cost)
		}
		more, err := extras(b.Attrs)
		if err != nil {
			return nil, j.blockErr(b, "%v", err)
		}
		r.index, r.cost, r.bytes, r.sig = b.Index, b.Cost, dataBytes(j.cols, r.np), signature(j.enzo, more)
		out = r.encode(out)
	}
	return out, nil
}

// makePlan gathers the reports of all ranks. One rank of each heap makes the plan from the reports.
func (j *job) makePlan(ctx context.Context, mine []byte) (err error) {
	c := j.c
	if j.heap, err = c.Share(ctx, j.src); err != nil {
		return err
	}
	apart, leader := int64(0), -1
	for r, s := range j.heap {
		if s == nil {
			apart = 1
		} else if leader < 0 {
			leader = r
		}
	}
	if apart, err = comm.AllreduceOne(ctx, c, apart, comm.Max); err != nil {
		return err
	}
	var all [][]byte
	if j.apart = apart != 0; j.apart {
		all, err = c.Allgather(ctx, mine)
	} else {
		all, err = c.Gather(ctx, leader, mine)
	}
	if err != nil {
		return err
	}
	files := int64(j.o.Files)
	if files == 0 {
		node, err := c.SplitNode(ctx)
		if err != nil {
			return err
		}
		first := int64(0)
		if node.Rank() == 0 {
			first = 1
		}
		if files, err = comm.AllreduceOne(ctx, c, first, comm.Sum); err != nil {
			return err
		}
	}
	if c.Rank() == leader {
		j.plan, err = makePlan(j.m, &j.o, int(files), all)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return err
	}
	plans, err := c.Share(ctx, j.plan)
	if err != nil {
		return err
	}
	j.plan = plans[leader].(*plan)
	j.names = make([]string, files)
	for i := range j.names {
		j.names[i] = cellodir.FileName(i, int(files))
	}
	if j.yt != "" {
		j.names = []string{j.yt}
	}
	for i := range j.plan.blocks {
		if j.plan.blocks[i].cost != 0 {
			j.costs = true
			break
		}
	}
	return nil
}

// writerOf returns the rank that writes a file: floor(file*ranks/files).
func (j *job) writerOf(file int) int {
	return int(int64(file) * int64(j.c.Size()) / int64(len(j.names)))
}

// write makes the files and commits.
func (j *job) write(ctx context.Context) error {
	var err error
	if j.c.Rank() == 0 {
		err = j.begin(ctx)
		defer j.release()
	}
	if err = comm.Agree(ctx, j.c, err); err != nil {
		return err // begin has removed its files
	}
	entries, err := j.writeFiles(ctx)
	if err != nil {
		j.abandon()
		return err
	}
	err = comm.Agree(ctx, j.c, j.err)
	var all [][]byte
	if err == nil {
		var b []byte
		if b, err = json.Marshal(entries); err != nil {
			j.err = err
		}
		if all, err = j.c.Gather(ctx, 0, b); err != nil {
			j.abandon()
			return err
		}
		if j.c.Rank() == 0 && j.err == nil {
			j.err = j.commit(ctx, all)
		}
		err = comm.Agree(ctx, j.c, j.err)
	}
	if err != nil {
		j.abandon()
		// No rank returns before the directory is removed, because the next Write may follow at once.
		if e := j.c.Barrier(ctx); e != nil {
			return fmt.Errorf("%w (and %w)", err, e)
		}
	}
	return err
}

// WriteYT writes the blocks of level 0 and finer in the form that yt reads. It makes a new directory dir with two files,
// <base>.block_list and <base>.h5, where base is the last element of dir. The block list is the argument for yt.load. yt cannot
// read the checkpoint itself: yt expects other lists, fails if a block below level 0 comes first, and shows garbage for fields
// without ghosts. If a field has no ghosts, WriteYT therefore adds ghosts with the nearest cell's value, and yt drops the ghosts.
// WriteYT omits face-centred fields, which yt cannot read. It uses only the options Fields and NoSync.
func WriteYT(ctx context.Context, k *Checkpoint, dir string, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	base := filepath.Base(dir)
	if !cellodir.PlainName(base) || strings.ContainsFunc(base, func(r rune) bool { return r == ' ' }) {
		return fault.Usage("directory %q, want a name without spaces", dir)
	}
	fields := []string{}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		if f.Centered != [3]bool{} {
			continue
		}
		if o.Fields == nil || slices.Contains(o.Fields, f.Name) {
			fields = append(fields, f.Name)
		}
	}
	j := newJob(comm.Self(), dir, &k.meta, k.Share(0, 1))
	j.yt = base
	return j.run(ctx, &Options{
		Files: 1, Ghosts: true, EnzoFloat: k.enzo, Fields: fields, Levels: &[2]int{0, amr.MaxDepth},
		NoSync: o.NoSync,
	})
}

// ytLists writes the block list for yt. A line has a block and its file. The blocks are in file order, so parents come before
// children.
func (j *job) ytLists() error {
	var b []byte
	for i := range j.plan.blocks {
		b = append(b, j.plan.blocks[i].index.Name(j.m.Rank, j.m.Roots)...)
		b = append(b, ' ')
		b = append(b, j.yt+cellodir.DataSuffix+"\n"...)
	}
	return vfs.WriteFile(j.fs, j.path(j.yt+cellodir.ListSuffix), b)
}
