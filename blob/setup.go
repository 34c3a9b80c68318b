package blob

import (
	"context"
	"math"
	"slices"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

// setup deals ranks to subfiles and works out where everything lies. Collective: broken
// is an error of the communication, err may be one of this rank alone.
func (w *Writer) setup(ctx context.Context, runs [][]decomp.Req) (broken, err error) {
	grp, err := subfile.Assign(ctx, w.c, w.opt.Grouping, w.opt.Subfiles)
	if err != nil {
		return err, nil
	}
	w.sub = grp.Comm
	w.info.ranks, w.info.subfiles = w.c.Size(), grp.N
	nd := len(w.schema.decomps)
	w.counts = make([]int64, nd)
	nreqs := make([]int64, nd)
	for d, rr := range runs {
		nreqs[d] = int64(len(rr))
		for _, r := range rr {
			w.counts[d] += r.Length
		}
	}
	row := &rankRow{sub: w.sub.Rank(), runs: runs, counts: w.counts, nreqs: nreqs}
	if comm.Apart(w.c) {
		return w.setupApart(ctx, grp, row)
	}
	mine := append(append([]int64(nil), w.counts...), nreqs...)
	if row.below, err = w.sub.ExscanInt64(ctx, mine, comm.Sum); err != nil {
		return err, nil
	}
	total, err := w.sub.AllreduceInt64(ctx, mine[:nd:nd], comm.Sum)
	if err != nil {
		return err, nil
	}
	most, err := w.sub.AllreduceInt64(ctx, nreqs, comm.Max)
	if err != nil {
		return err, nil
	}
	proc, err := shareOne(ctx, w.c, func() *process { return newProcess(&w.opt) })
	if err != nil {
		return err, nil
	}
	vals, err := w.sub.Share(ctx, row)
	if err != nil {
		return err, nil
	}
	// Only the leader walks over all ranks: with 21,600 of them a walk by each is
	// what takes the time.
	if w.lead = leader(vals) == w.sub.Rank(); w.lead {
		var rows []*rankRow
		for _, v := range vals {
			if v != nil {
				rows = append(rows, v.(*rankRow))
			}
		}
		if w.eng, err = newEngine(&w.opt, proc, w.schema, w.shape(grp, total, most), rows); err == nil {
			w.eng.index = grp.Index
		}
	}
	if err := comm.Agree(ctx, w.c, err); err != nil {
		return err, nil
	}
	engs, err := w.sub.Share(ctx, w.eng)
	if err != nil {
		return err, nil
	}
	w.eng = engs[leader(engs)].(*engine)
	w.local, _ = slices.BinarySearch(w.eng.table.ID, w.sub.Rank())
	return nil, nil
}

// shape says what the header of this rank's subfile does.
func (w *Writer) shape(grp subfile.Group, total, most []int64) *layout.Shape {
	nd := len(total)
	sh := &layout.Shape{Ranks: w.c.Size(), Subfiles: grp.N, Blobs: w.sub.Size(), Elems: total, MaxReqs: most, Wide: make([]bool, nd)}
	for d := range nd {
		sh.Wide[d] = w.opt.WideMaps && product(w.schema.DecompDims(DecompID(d+1))) > math.MaxInt32
	}
	return sh
}

// rankRow is what one rank tells the leader of its process.
type rankRow struct {
	sub    int // sub rank
	runs   [][]decomp.Req
	counts []int64
	nreqs  []int64
	below  []int64 // counts, then nreqs, summed over the lower sub ranks
}

func newEngine(o *settings, proc *process, s *Schema, sh *layout.Shape, rows []*rankRow) (*engine, error) {
	nd := len(s.decomps)
	e := &engine{opt: *o, proc: proc, schema: s, table: layout.NewRanks(len(rows), nd)}
	for i, r := range rows {
		e.table.ID[i] = r.sub
		copy(e.table.Count[i*nd:], r.counts)
		copy(e.table.Nreqs[i*nd:], r.nreqs)
		copy(e.table.Start[i*nd:(i+1)*nd], r.below[:nd])
		copy(e.table.Reqs[i*nd:(i+1)*nd], r.below[nd:])
	}
	for d := range nd {
		b := decomp.NewBuilder(s.DecompDims(DecompID(d+1)), len(rows))
		for i, r := range rows {
			if err := b.Set(i, r.runs[d]); err != nil {
				return nil, pkg.Errorf("decomposition D%d of sub rank %d: %w", d+1, r.sub, err)
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, pkg.Errorf("decomposition D%d: %w", d+1, err)
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
