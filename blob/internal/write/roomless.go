package write

import (
	"context"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
)

// giveRoomUp makes of a compressed set with places for Options.Records one of the records that its first commit has, since its index must tell of
// all chunks for which there are places. From then on each commit adds a set, as if Options.Records were not set; what was put of later
// records is kept for them. Collective.
func (w *Writer) giveRoomUp(ctx context.Context, records int64) (err error) {
	w.Job.Opt.Records = 0
	if w.Job.Lead {
		err = w.Job.Eng.giveRoomUp(records)
	}
	return w.State.guard(ctx, err)
}

func (e *Engine) giveRoomUp(records int64) error {
	e.opt.Records = 0
	x := e.Pack.x
	if x == nil { // nothing is written yet
		return e.Layout.Settle(records - e.Layout.Base)
	}
	if err := e.takeBack(x, records); err != nil {
		return err
	}
	own := *x.Place // as it was, for the places of its entries
	x.Place = &own
	if err := e.Layout.Settle(records - e.Layout.Base); err != nil {
		return err
	}
	y, err := layout.NewIndex(&e.Layout.Place.Place, e.Layout.Table, e.Pack.chunk)
	if err != nil {
		return fmt.Errorf("%s: %w", e.File.Name, err)
	}
	y.Entries = make([]layout.Entry, y.Total)
	for v, rec := range y.Pieces() {
		for i := range e.Layout.Table.ID {
			from, n, _ := x.Of(v, rec, i)
			to, _, _ := y.Of(v, rec, i)
			k := (n + x.Chunk - 1) / x.Chunk
			copy(y.Entries[to:to+k], x.Entries[from:from+k])
		}
	}
	e.Pack.x = y
	return nil
}

// takeBack reads what was put of records that the file will not have, to be written to another one.
func (e *Engine) takeBack(x *layout.Index, records int64) error {
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	defer done()
	pl := e.Layout.Place.Clone()
	pl.Packed.Stored = e.Pack.End
	in := unpack.New(pl, e.Layout.Table, x, e.File.Name, e.Proc.Zstd).File(f)
	e.Kept.lists = make([][]Pend, len(e.Layout.Table.ID))
	for rec := records; rec < e.Layout.Base+e.Layout.Place.Records; rec++ {
		for i := range e.Layout.Table.ID {
			for v := range e.Layout.Schema.Vars {
				sv := &e.Layout.Schema.Vars[v]
				p := Pend{V: int32(v), Rec: rec, Mem: sv.Type}
				if !sv.Record || sv.Decomp == 0 && e.Layout.Table.ID[i] != 0 || !e.Tally.Done.has(i, &p, true) {
					continue
				}
				off, n, _ := e.Layout.spot(i, &p)
				if e.opt.Retain != dataset.LendUntilClose {
					if err := e.Proc.reserve(n); err != nil {
						return fmt.Errorf("commit: %q record %d, which is not whole: %w", sv.Name, rec, err)
					}
				}
				p.Raw = make([]byte, n)
				if err := layout.ReadFull(in, p.Raw, off, e.File.Name, sv.Name); err != nil {
					return err
				}
				if e.Layout.Place.Big != dataset.HostBig {
					cdf5.Swap(p.Raw, p.Raw, sv.Type.Size())
				}
				e.Kept.lists[i] = append(e.Kept.lists[i], p)
			}
		}
	}
	return nil
}
