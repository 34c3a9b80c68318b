package write

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
)

// seal completes the subfiles. World rank 0 gets what all ranks tell of them: descriptions of subfiles by
// their first ranks, and sums of the maps. broken is an error of the communication, err
// is of this rank alone.
func (w *Writer) seal(ctx context.Context, records int64) (all [][]byte, broken, err error) {
	first := w.sub.Rank() == 0
	o := sealed{rank: w.C.Rank()}
	if w.Lead {
		if o.err = w.Eng.drain(); o.err == nil {
			o.err = w.Eng.SealLocal(records, first, w.Opt.Durability != dataset.DurableNone, !w.going)
		}
		if cerr := w.Eng.Proc.Pool.CloseFile(w.Eng.Name); o.err == nil {
			o.err = cerr // some file systems tell only now that data are lost
		}
		o.err = w.Ten.Explain(o.err)
		o.of(w.Eng, first)
		o.prints = w.Prints()
	}
	err = o.err
	// Processes that share this subfile bring what they know to its first rank.
	told := [][]byte{o.bytes()}
	if w.sub.Size() > 1 {
		if told, broken = w.sub.Gather(ctx, 0, told[0]); broken != nil {
			return nil, broken, nil
		}
	}
	var mine []byte
	if first && err == nil {
		mine, err = w.describe(told, records)
		err = w.Ten.Explain(err)
	}
	if first && err != nil {
		d := described{Rank: w.C.Rank(), Err: comm.EncodeError(err)}
		if re, ok := err.(*comm.RankError); ok { // another one has told it
			d = described{Rank: re.Rank, Err: comm.EncodeError(re.Err)}
		}
		mine, _ = json.Marshal(d)
	}
	if w.Info.Subfiles == 1 {
		return [][]byte{mine}, nil, err
	}
	all, broken = w.C.Gather(ctx, 0, mine)
	return all, broken, err
}

// SealLocal ends this process's part of the subfile. exact: nothing is behind these records.
func (e *Engine) SealLocal(records int64, first, sync, exact bool) error {
	if !e.wrote.Swap(false) && !first {
		return nil
	}
	f, done, err := e.File()
	if err != nil {
		return err
	}
	defer done()
	if e.Pack != nil {
		if e.team.one() {
			if err := e.SealPacked(f, e.Pack.x, records-e.Base); err != nil {
				return err
			}
		}
	} else if first && !e.Appended {
		if e.Place.ByRank {
			records = e.Base + e.Place.Records // of which it has places
		}
		if err := e.writeContainer(f, e.meta, records-e.Base, exact); err != nil {
			return err
		}
	} else if first {
		if err := e.setSize(f, records, exact); err != nil {
			return err
		}
	}
	if sync {
		if err := e.syncs(f.Sync()); err != nil {
			return err
		}
	}
	if first {
		return e.named(f)
	}
	return nil
}

// named returns an error if the subfile has not its name any more, or another file has it: then it would not be found behind the commit.
func (e *Engine) named(f vfs.File) error {
	is, err := vfs.Named(e.Proc.Pool.FS(), f, e.Name)
	if err == nil && !is {
		err = fault.At(e.Name, -1, "subfile", dataset.ErrMissing, "renamed, removed or replaced while its writer is at work")
	}
	return err
}

// setSize gives the file the size that it has with these records, or if that is not to be exact at least that: then nothing is cut off that ranks
// have written behind, though a client of a network file system may not see it yet.
func (e *Engine) setSize(f vfs.File, records int64, exact bool) error {
	want := e.fileSize(records)
	if !exact {
		size, err := f.Size()
		if err != nil || size >= want {
			return err
		}
		want = e.fileSize(max(records, e.known))
	}
	return f.Truncate(want)
}

// resum sums anew the extents that were put more than once, from the file: any rank of the subfile may have written them. The file is closed
// then, since not every system renames one that is open.
func (e *Engine) resum(records int64) (err error) {
	redo, later := map[int64]bool{}, map[int64]bool{}
	end := e.Exts.First(records - e.First)
	for x := range e.Sums.Redo {
		if x < end {
			redo[x] = true
		} else {
			later[x] = true
		}
	}
	if len(redo) == 0 {
		return nil
	}
	f, done, err := e.File()
	if err != nil {
		return err
	}
	defer func() {
		done()
		err = errors.Join(err, e.Proc.Pool.CloseFile(e.Name))
	}()
	e.Sums.Redo = later
	t, buf := e.team.All, make([]byte, 1<<20)
	one := func(i int, p *Pend) error {
		off, n, at := e.spotOf(t, i, p.V, p.Rec)
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if k, err := f.ReadAt(b, off); k < len(b) {
				return err
			}
			e.Sums.Sum(e.extent(p), at, b)
			off, at, n = off+int64(len(b)), at+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	for v := range e.Schema.Vars {
		lo, hi := int64(0), int64(1)
		if e.Schema.Vars[v].Record {
			lo, hi = e.From, records
		}
		for rec := lo; rec < hi; rec++ {
			p := Pend{V: int32(v), Rec: rec}
			if !redo[e.extent(&p)] {
				continue
			}
			for i := range t.ID {
				if e.Schema.Vars[v].Decomp == 0 && t.ID[i] != 0 {
					continue
				}
				if err := one(i, &p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// MoveRecords sets the record count of a variable-centric subfile.
func (e *Engine) MoveRecords(records int64, sync bool) error {
	f, done, err := e.File()
	if err != nil {
		return err
	}
	defer done()
	err = SetRecords(f, records-e.Base)
	if err == nil && sync {
		err = f.Sync()
	}
	return err
}

// SetRecords writes the number of records to a CDF-5 file.
func SetRecords(f vfs.File, records int64) error {
	var b [layout.NumrecsLen]byte
	binary.BigEndian.PutUint64(b[:], uint64(records))
	_, err := f.WriteAt(b[:], layout.NumrecsAt)
	return err
}

// writeContainer writes everything but the ranks' data: the header, which says that there are so many records in the file, and
// the HDF5 metadata. The file gets its size; see setSize.
func (e *Engine) writeContainer(f vfs.File, meta *h5.Layout, records int64, exact bool) error {
	hb, err := e.Place.HeaderBytes(records)
	if err != nil {
		return err
	}
	if meta != nil {
		for _, p := range meta.Pieces {
			if _, err := f.WriteAt(p.Data, p.Off); err != nil {
				return err
			}
		}
	}
	if _, err = f.WriteAt(hb, e.Place.HeaderOff); err != nil {
		return err
	}
	if e.team.one() { // nobody else writes to the file, so the size is known here; some file systems bring all data to disks before they cut
		if size, err := f.Size(); err != nil || size == e.Place.FileSize(records) {
			return err
		}
	}
	return e.setSize(f, e.Base+records, exact)
}

// Prints are this process's part of the fingerprints of the maps, by which an append can tell
// whether it is given the same ones. They are sums over ranks of a hash of each
// rank's requests and number, so the ranks need not meet in one place. World ranks are not known
// here, so the key is (subfile, sub rank), which an append has as well.
func (w *Writer) Prints() []int64 {
	sums := make([]int64, len(w.Schema.Decomps))
	if w.Lead {
		for d := range sums {
			sums[d] = dataset.MapPrint(w.Eng.Maps[d], w.Eng.Table, w.Eng.Index)
		}
	}
	return sums
}
