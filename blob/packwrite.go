package blob

import (
	"context"
	"fmt"
	"slices"

	"blobio/blob/internal/layout"
	"blobio/comm"
)

// packUnit is the index of choices for a put.
func (e *engine) packUnit(v int32) int {
	if v < 0 {
		return int(-1-v)/layout.MapVars*2 + int(-1-v)%layout.MapVars - layout.MapOffsets
	}
	return 2*e.place.NumMaps() + int(v)
}

// packPiece returns the first entry of a put of local rank i, its bytes and the size of an element.
func (e *engine) packPiece(i int, p *pend) (first, n, size int64) {
	return e.pack.x.Of(e.place.HeaderVar(p.v), e.recIn(p.v, p.rec), i)
}

// packQueue lists what is written, in order. Of the maps only the lists are pieces: the rest is in the index.
func (e *engine) packQueue(lists [][]pend) (*queue, error) {
	if e.pack.x == nil {
		x, err := layout.NewIndex(&e.place.Place, e.table, e.pack.chunk)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		x.Entries = make([]layout.Entry, x.Total)
		e.pack.x = x
	}
	maps := slices.DeleteFunc(e.mapPends(), func(p pend) bool { return int(-1-p.v)%layout.MapVars < layout.MapOffsets })
	q := &queue{e: e, lists: lists, maps: maps}
	q.orderByRank()
	return q, nil
}

// writePacked is write for compressed files, of which all ranks are one team.
func (e *engine) writePacked(ctx context.Context, lists [][]pend, l *later, err error) (n int64, _ error) {
	if e.team.one() && len(e.table.ID) != e.place.Shape.Blobs {
		return 0, fmt.Errorf("%s: compression by ranks of which some share a heap: %w", e.name, ErrUnsupported)
	}
	var q *queue
	var sizes []int64
	if err == nil {
		if q, err = e.packQueue(lists); err == nil {
			sizes, err = e.sample(q, e.team.all, e.opt.Workers)
		}
	}
	if broken := e.choosePacked(ctx, sizes); broken != nil {
		return 0, broken
	}
	var j *packJob
	if err == nil {
		j = newPackJob(q)
	}
	e.mapsOut = true
	if !e.team.one() {
		return e.packTeam(ctx, j, l, err)
	}
	if err == nil {
		err = j.run(ctx, j.place)
	}
	if err == nil {
		n, e.pack.end = j.end-e.pack.end, j.end
	}
	return n, err
}

// choosePacked chooses how to compress what is not chosen yet, by the samples of the whole team; sizes may be nil.
func (e *engine) choosePacked(ctx context.Context, sizes []int64) (broken error) {
	p := e.pack
	if !slices.ContainsFunc(p.choices, func(c choice) bool { return c.form == layout.FormNone }) { // the same on all ranks
		return nil
	}
	if sizes == nil {
		sizes = make([]int64, candidates*len(p.choices))
	}
	if !e.team.one() {
		if sizes, broken = e.team.c.AllreduceInt64(ctx, sizes, comm.Sum); broken != nil {
			return broken
		}
	}
	p.choose(sizes)
	return nil
}

// packTeam carries out a job where others write too: each rank compresses what it has, tells the others how
// much it is, and writes it, or leaves that to l. What does not fit Options.Memory is compressed twice rather than kept.
func (e *engine) packTeam(ctx context.Context, j *packJob, l *later, err error) (int64, error) {
	mine := int64(0)
	if err == nil {
		j.held = make([][]byte, len(j.batches))
		if err = j.run(ctx, j.hold); err != nil {
			j.release()
		}
	}
	if err == nil {
		for _, n := range j.sizes {
			mine += n
		}
	}
	below, broken := e.team.c.ExscanInt64(ctx, []int64{mine}, comm.Sum)
	var total []int64
	if broken == nil {
		total, broken = e.team.c.AllreduceInt64(ctx, []int64{mine}, comm.Sum)
	}
	if broken != nil {
		if j != nil {
			j.release()
		}
		return 0, broken
	}
	at := e.pack.end + below[0]
	e.pack.end += total[0]
	if err != nil || mine == 0 {
		return 0, err
	}
	for k, n := range j.sizes {
		j.at[k] = at
		at += n
	}
	e.wrote.Store(true)
	return l.do(ctx, func(ctx context.Context) (int64, error) {
		defer j.release()
		return mine, j.run(ctx, j.put)
	})
}
