package cello

import (
	"context"
	"math"

	"blobio/comm"
)

// batch is a run of blocks of one file, which a writer receives in one round.
type batch struct {
	file     int
	from, to int64 // indexes in the plan
}

// batches cuts the blocks that a rank writes into rounds. If all ranks share a heap, each file is one round. Otherwise a round
// has at most three eighths of Memory, because the messages of two consecutive rounds and the lists can be in memory at the same
// time. Every rank computes the same rounds from the plan, so the writers need not request blocks.
func (j *job) batches(rank int) (l []batch) {
	most := int64(math.MaxInt64)
	if j.apart {
		most = j.o.Memory / 8 * 3
	}
	for f := range j.names {
		if j.writerOf(f) != rank {
			continue
		}
		from, end, bytes := j.plan.starts[f], j.plan.starts[f+1], int64(0)
		for i := from; i < end; i++ {
			bytes += j.plan.blocks[i].bytes + 8192
			if bytes >= most {
				l = append(l, batch{f, from, i + 1})
				from, bytes = i+1, 0
			}
		}
		if from < end || j.plan.starts[f] == end { // also for a file without blocks
			l = append(l, batch{f, from, end})
		}
	}
	return l
}

// writeFiles writes this rank's files. In each round, each writer receives the next blocks for its file from ranks of other
// heaps; Options.Memory limits their size. Blocks in the writer's own heap are not copied. I/O errors go to j.err; the returned
// errors are communication errors.
func (j *job) writeFiles(ctx context.Context) ([]manifestFile, error) {
	me := j.c.Rank()
	// Blocks that this rank sends, by round and receiver.
	type part struct {
		to int
		i  int64
	}
	var send [][]part
	var mine []batch
	for r := range j.c.Size() {
		if j.heap[r] != nil {
			if r == me {
				mine = j.batches(r)
			}
			continue
		}
		for k, b := range j.batches(r) {
			for i := b.from; i < b.to; i++ {
				if int(j.plan.blocks[i].owner) != me {
					continue
				}
				for len(send) <= k {
					send = append(send, nil)
				}
				send[k] = append(send[k], part{r, i})
			}
		}
	}
	rounds, err := comm.AllreduceOne(ctx, j.c, int64(max(len(send), len(mine))), comm.Max)
	if err != nil {
		return nil, err
	}
	var entries []manifestFile
	var w *fileWriter
	stop := func() {
		if w != nil {
			if cerr := w.close(); j.err == nil {
				j.err = cerr
			}
			w = nil
		}
	}
	defer stop()
	for round := range int(rounds) {
		out := make([][]byte, j.c.Size())
		if round < len(send) {
			size := make([]int64, len(out))
			for _, p := range send[round] {
				e := &j.plan.blocks[p.i]
				if t, err := j.template(e.sig); err == nil { // if this fails, image reports the error
					size[p.to] += e.bytes + t.bytes
				}
			}
			for _, p := range send[round] {
				if out[p.to] == nil { // allocate once, at the maximum size
					out[p.to] = make([]byte, 0, size[p.to])
				}
				b, err := j.image(ctx, out[p.to], p.i)
				if err != nil {
					// Send nothing: the receiver waits for these bytes and detects the failure by their absence. The ranks agree
					// on the error at the end.
					if j.err == nil {
						j.err = err
					}
					continue
				}
				out[p.to] = b
			}
		}
		in, err := j.c.Alltoallv(ctx, out)
		if err != nil {
			return nil, err
		}
		if round >= len(mine) || j.err != nil {
			continue
		}
		done, err := j.batch(ctx, &w, mine[round], in)
		if err != nil {
			j.err = err
			stop()
			continue
		}
		if done {
			entries = append(entries, w.entry)
			w = nil
		}
	}
	return entries, nil
}

// batch writes the blocks of one round. done reports whether the file is complete.
func (j *job) batch(ctx context.Context, w **fileWriter, b batch, in [][]byte) (done bool, err error) {
	if *w == nil {
		if *w, err = j.newFileWriter(b.file); err != nil {
			return false, err
		}
	}
	rest := append([][]byte(nil), in...)
	for i := b.from; i < b.to; i++ {
		owner := j.plan.blocks[i].owner
		if s, ok := j.heap[owner].(Source); ok {
			err = (*w).take(ctx, s, i)
		} else {
			rest[owner], err = (*w).addImage(rest[owner])
		}
		if err != nil {
			return false, err
		}
	}
	// The messages are freed after this round.
	if err := (*w).flush(); err != nil {
		return false, err
	}
	if (*w).next == (*w).count {
		if err := (*w).finish(); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// image appends the block at index i of the plan to msg, in the form that addImage reads.
func (j *job) image(ctx context.Context, msg []byte, i int64) ([]byte, error) {
	e := &j.plan.blocks[i]
	b, err := j.src.Block(ctx, int(e.local))
	if err != nil {
		return nil, err
	}
	if b.Index != e.index {
		return nil, j.blockErr(b, "the source returned this block when asked for %s", e.index.Name(j.m.Rank, j.m.Roots))
	}
	t, err := j.template(e.sig)
	if err != nil {
		return nil, err
	}
	vals := make([]byte, t.bytes)
	at := 0
	if err := j.values(t, i, b, func(k int) []byte {
		n := int(t.attrs[k].n * t.attrs[k].typ.Size())
		at += n
		return vals[at-n : at : at]
	}); err != nil {
		return nil, err
	}
	n := len(j.m.Particles)
	np := j.plan.np[int(i)*n : (int(i)+1)*n]
	if need := int(e.bytes) + len(vals); cap(msg)-len(msg) < need {
		msg = append(make([]byte, 0, len(msg)+max(need, cap(msg))), msg...)
	}
	msg = append(msg, vals...)
	var a arena
	for k := range j.cols {
		p, err := j.piece(&j.cols[k], b, np, &a)
		if err != nil {
			return nil, err
		}
		msg = append(msg, p...)
	}
	return msg, nil
}
