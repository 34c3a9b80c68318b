package blob

import (
	"context"
	"fmt"

	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
)

// giveRoomUp makes of a compressed set with places for Options.Records one of the records that its first commit has, since its index must tell of
// all chunks for which there are places. From then on each commit adds a set, as if Options.Records were not set; what was put of later
// records is kept for them. Collective.
func (w *Writer) giveRoomUp(ctx context.Context, records int64) (err error) {
	w.opt.Records = 0
	if w.lead {
		err = w.eng.giveRoomUp(records)
	}
	return w.guard(ctx, err)
}

func (e *engine) giveRoomUp(records int64) error {
	e.opt.Records = 0
	x := e.pack.x
	if x == nil { // nothing is written yet
		return e.settle(records - e.base)
	}
	if err := e.takeBack(x, records); err != nil {
		return err
	}
	own := *x.Place // as it was, for the places of its entries
	x.Place = &own
	if err := e.settle(records - e.base); err != nil {
		return err
	}
	y, err := layout.NewIndex(&e.place.Place, e.table, e.pack.chunk)
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	y.Entries = make([]layout.Entry, y.Total)
	for v, rec := range y.Pieces() {
		for i := range e.table.ID {
			from, n, _ := x.Of(v, rec, i)
			to, _, _ := y.Of(v, rec, i)
			k := (n + x.Chunk - 1) / x.Chunk
			copy(y.Entries[to:to+k], x.Entries[from:from+k])
		}
	}
	e.pack.x = y
	return nil
}

// takeBack reads what was put of records that the file will not have, to be written to another one.
func (e *engine) takeBack(x *layout.Index, records int64) error {
	f, done, err := e.file()
	if err != nil {
		return err
	}
	defer done()
	pl := e.place.Clone()
	pl.Packed.Stored = e.pack.end
	in := unpack.New(pl, e.table, x, e.name, e.proc.zstd).File(f)
	e.kept = make([][]pend, len(e.table.ID))
	for rec := records; rec < e.base+e.place.Records; rec++ {
		for i := range e.table.ID {
			for v := range e.schema.vars {
				sv := &e.schema.vars[v]
				p := pend{v: int32(v), rec: rec, mem: sv.Type}
				if !sv.Record || sv.Decomp == 0 && e.table.ID[i] != 0 || !e.done.has(i, &p, true) {
					continue
				}
				off, n, _ := e.spot(i, &p)
				if e.opt.Retain != LendUntilClose {
					if err := e.proc.reserve(n); err != nil {
						return fmt.Errorf("commit: %q record %d, which is not whole: %w", sv.Name, rec, err)
					}
				}
				p.raw = make([]byte, n)
				if err := layout.ReadFull(in, p.raw, off, e.name, sv.Name); err != nil {
					return err
				}
				if e.place.Big != hostBig {
					cdf5.Swap(p.raw, p.raw, sv.Type.Size())
				}
				e.kept[i] = append(e.kept[i], p)
			}
		}
	}
	return nil
}
