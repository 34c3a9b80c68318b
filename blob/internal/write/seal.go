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
func (c *commits) seal(ctx context.Context, records int64) (all [][]byte, broken, err error) {
	first := c.job.sub.Rank() == 0
	o := sealed{rank: c.job.C.Rank()}
	if c.job.Lead {
		if o.err = c.job.Eng.background.drain(); o.err == nil {
			o.err = c.job.Eng.Seal.Local(records, first, c.job.Opt.Durability != dataset.DurableNone, !c.going)
		}
		if cerr := c.job.Eng.Proc.Pool.CloseFile(c.job.Eng.File.Name); o.err == nil {
			o.err = cerr // some file systems tell only now that data are lost
		}
		o.err = c.job.Ten.Explain(o.err)
		o.of(c.job.Eng, first)
		o.prints = c.job.Prints()
	}
	err = o.err
	// Processes that share this subfile bring what they know to its first rank.
	told := [][]byte{o.bytes()}
	if c.job.sub.Size() > 1 {
		if told, broken = c.job.sub.Gather(ctx, 0, told[0]); broken != nil {
			return nil, broken, nil
		}
	}
	var mine []byte
	if first && err == nil {
		mine, err = c.describe(told, records)
		err = c.job.Ten.Explain(err)
	}
	if first && err != nil {
		d := described{Rank: c.job.C.Rank(), Err: comm.EncodeError(err)}
		if re, ok := err.(*comm.RankError); ok { // another one has told it
			d = described{Rank: re.Rank, Err: comm.EncodeError(re.Err)}
		}
		mine, _ = json.Marshal(d)
	}
	if c.job.Subfiles == 1 {
		return [][]byte{mine}, nil, err
	}
	all, broken = c.job.C.Gather(ctx, 0, mine)
	return all, broken, err
}

// SealLocal ends this process's part of the subfile. exact: nothing is behind these records.
func (s *sealer) Local(records int64, first, sync, exact bool) error {
	if !s.file.wrote.Swap(false) && !first {
		return nil
	}
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer done()
	if s.pack != nil {
		if s.team.one() {
			if err := s.Packed(f, s.pack.x, records-s.lay.Base); err != nil {
				return err
			}
		}
	} else if first && !s.lay.Appended {
		if s.lay.Place.ByRank {
			records = s.lay.Base + s.lay.Place.Records // of which it has places
		}
		if err := s.writeContainer(f, s.lay.meta, records-s.lay.Base, exact); err != nil {
			return err
		}
	} else if first {
		if err := s.setSize(f, records, exact); err != nil {
			return err
		}
	}
	if sync {
		if err := s.syncs(f.Sync()); err != nil {
			return err
		}
	}
	if first {
		return s.file.named(f)
	}
	return nil
}

// named returns an error if the subfile has not its name any more, or another file has it: then it would not be found behind the commit.
func (o *outFile) named(f vfs.File) error {
	is, err := vfs.Named(o.proc.Pool.FS(), f, o.Name)
	if err == nil && !is {
		err = fault.At(o.Name, -1, "subfile", dataset.ErrMissing, "renamed, removed or replaced while its writer is at work")
	}
	return err
}

// setSize gives the file the size that it has with these records, or if that is not to be exact at least that: then nothing is cut off that ranks
// have written behind, though a client of a network file system may not see it yet.
func (s *sealer) setSize(f vfs.File, records int64, exact bool) error {
	want := s.lay.fileSize(records)
	if !exact {
		size, err := f.Size()
		if err != nil || size >= want {
			return err
		}
		want = s.lay.fileSize(max(records, s.known))
	}
	return f.Truncate(want)
}

// resum sums anew the extents that were put more than once, from the file: any rank of the subfile may have written them. The file is closed
// then, since not every system renames one that is open.
func (s *sums) resum(records int64) (err error) {
	redo, later := map[int64]bool{}, map[int64]bool{}
	end := s.lay.Exts.First(records - s.lay.First)
	for x := range s.Set.Redo {
		if x < end {
			redo[x] = true
		} else {
			later[x] = true
		}
	}
	if len(redo) == 0 {
		return nil
	}
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer func() {
		done()
		err = errors.Join(err, s.file.proc.Pool.CloseFile(s.file.Name))
	}()
	s.Set.Redo = later
	t, buf := s.lay.All, make([]byte, 1<<20)
	one := func(i int, p *Pend) error {
		off, n, at := s.lay.spotOf(t, i, p.V, p.Rec)
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if k, err := f.ReadAt(b, off); k < len(b) {
				return err
			}
			s.Set.Sum(s.lay.extent(p), at, b)
			off, at, n = off+int64(len(b)), at+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	for v := range s.lay.Schema.Vars {
		lo, hi := int64(0), int64(1)
		if s.lay.Schema.Vars[v].Record {
			lo, hi = s.tally.From, records
		}
		for rec := lo; rec < hi; rec++ {
			p := Pend{V: int32(v), Rec: rec}
			if !redo[s.lay.extent(&p)] {
				continue
			}
			for i := range t.ID {
				if s.lay.Schema.Vars[v].Decomp == 0 && t.ID[i] != 0 {
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
func (s *sealer) MoveRecords(records int64, sync bool) error {
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer done()
	err = SetRecords(f, records-s.lay.Base)
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
func (s *sealer) writeContainer(f vfs.File, meta *h5.Layout, records int64, exact bool) error {
	hb, err := s.lay.Place.HeaderBytes(records)
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
	if _, err = f.WriteAt(hb, s.lay.Place.HeaderOff); err != nil {
		return err
	}
	if s.team.one() { // nobody else writes to the file, so the size is known here; some file systems bring all data to disks before they cut
		if size, err := f.Size(); err != nil || size == s.lay.Place.FileSize(records) {
			return err
		}
	}
	return s.setSize(f, s.lay.Base+records, exact)
}

// Prints are this process's part of the fingerprints of the maps, by which an append can tell
// whether it is given the same ones. They are sums over ranks of a hash of each
// rank's requests and number, so the ranks need not meet in one place. World ranks are not known
// here, so the key is (subfile, sub rank), which an append has as well.
func (job *Job) Prints() []int64 {
	sums := make([]int64, len(job.Schema.Decomps))
	if job.Lead {
		for d := range sums {
			sums[d] = dataset.MapPrint(job.Eng.Layout.Maps[d], job.Eng.Layout.Table, job.Eng.File.Index)
		}
	}
	return sums
}
