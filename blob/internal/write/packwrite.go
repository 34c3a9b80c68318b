package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
)

// unit returns the index of a variable in choices.
func (pk *packer) unit(v int32) int {
	if v < 0 {
		return int(-1-v)/layout.MapVars*2 + int(-1-v)%layout.MapVars - layout.MapOffsets
	}
	return 2*pk.lay.Place.Header.Maps + int(v)
}

// piece returns the first index entry of a put of local rank i, its size in bytes, and the size of an element.
func (pk *packer) piece(i int, p *Pend) (first, n, size int64) {
	return pk.x.Of(pk.lay.Place.Header.HeaderVar(p.V), pk.lay.recIn(p.V, p.Rec), i)
}

// packQueue lists all pieces in order. Of the map variables, only the lists are pieces; the index holds the others.
func (e *Engine) packQueue(lists [][]Pend) (*queue, error) {
	if e.Pack.x == nil {
		x, err := layout.NewIndex(&e.Layout.Place.Place, e.Layout.Table, e.Pack.chunk)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.File.Name, err)
		}
		x.Entries = make([]layout.Entry, x.Total)
		e.Pack.x = x
	}
	maps := slices.DeleteFunc(e.Layout.mapPends(), func(p Pend) bool { return int(-1-p.V)%layout.MapVars < layout.MapOffsets })
	q := &queue{e: e, lists: lists, maps: maps}
	q.orderByRank()
	return q, nil
}

// writePacked is Write for compressed files, whose ranks all belong to one team.
func (e *Engine) writePacked(ctx context.Context, lists [][]Pend, l *later, err error) (n int64, _ error) {
	if e.team.one() && len(e.Layout.Table.ID) != e.Layout.Place.Shape.Blobs {
		return 0, fmt.Errorf("%s: compression does not work when only some ranks share a heap: %w", e.File.Name, dataset.ErrUnsupported)
	}
	var q *queue
	var sizes []int64
	if err == nil {
		if q, err = e.packQueue(lists); err == nil {
			sizes, err = e.Pack.sample(q, e.opt.Workers)
		}
	}
	if broken := e.Pack.agree(ctx, sizes, e.team); broken != nil {
		return 0, broken
	}
	var j *packJob
	if err == nil {
		j = newPackJob(q)
	}
	e.Layout.MapsOut = true
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

// agree makes the missing choices from the samples of all ranks of the team. sizes may be nil.
func (pk *packer) agree(ctx context.Context, sizes []int64, t *Team) (broken error) {
	if !slices.ContainsFunc(pk.choices, func(c choice) bool { return c.form == layout.FormNone }) { // all ranks take the same branch
		return nil
	}
	if sizes == nil {
		sizes = make([]int64, candidates*len(pk.choices))
	}
	if !t.one() {
		if sizes, broken = t.C.AllreduceInt64(ctx, sizes, comm.Sum); broken != nil {
			return broken
		}
	}
	pk.choose(sizes)
	return nil
}

// packTeam runs a job of a team with several processes. Each rank compresses its data, sends its size to the others, and writes
// the data or leaves the writing to l. Chunks for which Options.Memory leaves no room are compressed twice instead of being
// kept.
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
	e.File.wrote.Store(true)
	return l.do(ctx, func(ctx context.Context) (int64, error) {
		defer j.release()
		return mine, j.run(ctx, j.put)
	})
}

// rows returns the message of a rank to the first rank of its subfile: its chunks.
func (pk *packer) rows() []byte {
	x := pk.x
	if x == nil {
		return nil
	}
	b := make([]byte, 0, 8+int64(len(x.Entries))*layout.IndexEntryLen)
	b = binary.LittleEndian.AppendUint64(b, uint64(pk.lay.Table.ID[0]))
	for k := range x.Entries {
		b = x.Entries[k].Append(b)
	}
	return b
}

// gather makes the index of all blobs on the first rank of a team.
func (pk *packer) gather(rows [][]byte) (*layout.Index, error) {
	x, err := layout.NewIndex(&pk.lay.Place.Place, pk.lay.All, pk.chunk)
	if err != nil {
		return nil, err
	}
	x.Entries = make([]layout.Entry, x.Total)
	for _, b := range rows {
		if len(b) == 0 {
			continue
		}
		if len(b) < 8 {
			return nil, errSealed
		}
		i := binary.LittleEndian.Uint64(b)
		if b = b[8:]; i >= uint64(len(x.Table.ID)) {
			return nil, errSealed
		}
		for v, rec := range x.Pieces() {
			first, n, _ := x.Of(v, rec, int(i))
			for k := first; n > 0; k, n = k+1, n-min(n, x.Chunk) {
				if len(b) < layout.IndexEntryLen {
					return nil, errSealed
				}
				x.Entries[k], _ = layout.ParseEntry(b)
				b = b[layout.IndexEntryLen:]
			}
		}
		if len(b) > 0 {
			return nil, errSealed
		}
	}
	return x, nil
}

// sealTeam completes the subfile on the first rank of a team, after all ranks have sent their chunks.
func (e *Engine) sealTeam(rows [][]byte, records int64, sync bool) error {
	x, err := e.Pack.gather(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", e.File.Name, err)
	}
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	if err = e.Seal.Packed(f, x, records); err == nil && sync {
		err = f.Sync()
	}
	done()
	if cerr := e.Proc.Pool.CloseFile(e.File.Name); err == nil {
		err = cerr
	}
	return err
}
