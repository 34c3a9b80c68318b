package write

import (
	"context"
	"fmt"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
)

// packUnit is the index of choices for a put.
func (e *Engine) packUnit(v int32) int {
	if v < 0 {
		return int(-1-v)/layout.MapVars*2 + int(-1-v)%layout.MapVars - layout.MapOffsets
	}
	return 2*e.Place.NumMaps() + int(v)
}

// packPiece returns the first entry of a put of local rank i, its bytes and the size of an element.
func (e *Engine) packPiece(i int, p *Pend) (first, n, size int64) {
	return e.Pack.x.Of(e.Place.HeaderVar(p.V), e.recIn(p.V, p.Rec), i)
}

// packQueue lists what is written, in order. Of the maps only the lists are pieces: the rest is in the index.
func (e *Engine) packQueue(lists [][]Pend) (*queue, error) {
	if e.Pack.x == nil {
		x, err := layout.NewIndex(&e.Place.Place, e.Table, e.Pack.chunk)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		x.Entries = make([]layout.Entry, x.Total)
		e.Pack.x = x
	}
	maps := slices.DeleteFunc(e.mapPends(), func(p Pend) bool { return int(-1-p.V)%layout.MapVars < layout.MapOffsets })
	q := &queue{e: e, lists: lists, maps: maps}
	q.orderByRank()
	return q, nil
}

// writePacked is write for compressed files, of which all ranks are one team.
func (e *Engine) writePacked(ctx context.Context, lists [][]Pend, l *later, err error) (n int64, _ error) {
	if e.team.one() && len(e.Table.ID) != e.Place.Shape.Blobs {
		return 0, fmt.Errorf("%s: compression by ranks of which some share a heap: %w", e.Name, dataset.ErrUnsupported)
	}
	var q *queue
	var sizes []int64
	if err == nil {
		if q, err = e.packQueue(lists); err == nil {
			sizes, err = e.sample(q, e.team.All, e.opt.Workers)
		}
	}
	if broken := e.choosePacked(ctx, sizes); broken != nil {
		return 0, broken
	}
	var j *packJob
	if err == nil {
		j = newPackJob(q)
	}
	e.MapsOut = true
	if !e.team.one() {
		return e.packTeam(ctx, j, l, err)
	}
	if err == nil {
		err = j.run(ctx, j.place)
	}
	if err == nil {
		n, e.Pack.End = j.end-e.Pack.End, j.end
	}
	return n, err
}

// choosePacked chooses how to compress what is not chosen yet, by the samples of the whole team; sizes may be nil.
func (e *Engine) choosePacked(ctx context.Context, sizes []int64) (broken error) {
	p := e.Pack
	if !slices.ContainsFunc(p.choices, func(c choice) bool { return c.form == layout.FormNone }) { // the same on all ranks
		return nil
	}
	if sizes == nil {
		sizes = make([]int64, candidates*len(p.choices))
	}
	if !e.team.one() {
		if sizes, broken = e.team.C.AllreduceInt64(ctx, sizes, comm.Sum); broken != nil {
			return broken
		}
	}
	p.choose(sizes)
	return nil
}

// packTeam carries out a job where others write too: each rank compresses what it has, tells the others how
// much it is, and writes it, or leaves that to l. What does not fit Options.Memory is compressed twice rather than kept.
func (e *Engine) packTeam(ctx context.Context, j *packJob, l *later, err error) (int64, error) {
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
	below, broken := e.team.C.ExscanInt64(ctx, []int64{mine}, comm.Sum)
	var total []int64
	if broken == nil {
		total, broken = e.team.C.AllreduceInt64(ctx, []int64{mine}, comm.Sum)
	}
	if broken != nil {
		if j != nil {
			j.release()
		}
		return 0, broken
	}
	at := e.Pack.End + below[0]
	e.Pack.End += total[0]
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
