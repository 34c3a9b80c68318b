package write

import (
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/lease"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
)

// syncs is the error of a sync: what a system had no space for then, it may have given up, so the writer cannot go on.
func (s *sealer) syncs(err error) error {
	if err != nil {
		s.late = fmt.Errorf("%w: %w", dataset.ErrBroken, err)
	}
	return err
}

// sealer gives the subfile its size, header and metadata, and makes it durable.
type sealer struct {
	lay    *Layout
	file   *outFile
	team   *Team
	pack   *packer
	known  int64 // one more than the highest that any rank has put, as far as it was agreed
	behind bool  // the header counts fewer records than are committed, for want of space
	late   error // met behind the last commit, for the next collective to report
}

// syncWritten makes durable what this process has written since the last time.
func (s *sealer) syncWritten(sync bool) error {
	if !s.file.wrote.Swap(false) || !sync {
		return nil
	}
	return s.syncs(s.file.sync())
}

// reach makes the file as long as these records need: nobody may have written the pad behind the last one.
func (s *sealer) reach(records int64, sync bool) error {
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer done()
	was, err := f.Size()
	if err != nil || was >= s.lay.fileSize(records) {
		return err
	}
	if err := s.setSize(f, records, false); err != nil || !sync {
		return err
	}
	return s.syncs(f.Sync())
}

// finish gives the file its exact size, and makes its number of records durable.
func (s *sealer) finish(first bool, records int64, sync bool) error {
	if !first || s.file.Name == "" {
		return nil
	}
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer done()
	size, err := f.Size()
	if err == nil && s.behind {
		err = lease.SetRecords(f, records-s.lay.Base)
	}
	if err == nil && size != s.lay.fileSize(records) {
		err = f.Truncate(s.lay.fileSize(records))
	} else if err == nil && !s.lay.Place.Grows {
		return nil
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return err
}

// Packed completes a compressed subfile: metadata, header and index. x is of all its blobs.
func (s *sealer) Packed(f vfs.File, x *layout.Index, records int64) error {
	idx := x.Encode()
	pk := s.lay.Place.Packed
	pk.Stored, pk.IndexLen, pk.Index = s.pack.End, int64(len(idx)), x
	meta, err := s.lay.Place.Container(s.lay.Place.DataLen)
	if err != nil {
		return err
	}
	if err := s.writeContainer(f, meta, records, true); err != nil {
		return err
	}
	_, err = f.WriteAt(idx, pk.IndexOff)
	return err
}

// Local ends this process's part of the subfile. exact: nothing is behind these records.
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
			records = s.lay.Base + s.lay.Place.Blob.Records // with places in the file
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

// MoveRecords sets the record count of a variable-centric subfile.
func (s *sealer) MoveRecords(records int64, sync bool) error {
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer done()
	err = lease.SetRecords(f, records-s.lay.Base)
	if err == nil && sync {
		err = f.Sync()
	}
	return err
}

// writeContainer writes everything but the ranks' data: the header, with the number of records in the file, and
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
	if _, err = f.WriteAt(hb, s.lay.Place.Header.Off); err != nil {
		return err
	}
	if s.team.one() { // nobody else writes to the file, so the size is known here; some file systems bring all data to disks before they cut
		if size, err := f.Size(); err != nil || size == s.lay.Place.FileSize(records) {
			return err
		}
	}
	return s.setSize(f, s.lay.Base+records, exact)
}
