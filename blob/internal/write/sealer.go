package write

import (
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/lease"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
)

// syncs marks the error of a sync as final. The system may have dropped data, so the writer cannot continue even if only space
// was lacking.
func (s *sealer) syncs(err error) error {
	if err != nil {
		s.late = fmt.Errorf("%w: %w", dataset.ErrBroken, err)
	}
	return err
}

// sealer sets the size, header and metadata of the subfile, and makes it durable.
type sealer struct {
	lay    *Layout
	file   *outFile
	team   *Team
	pack   *packer
	known  int64 // one more than the highest record that any rank had put at the last agreement
	behind bool  // for lack of space, the header has a smaller number of records than are committed
	late   error // error after the last commit; the next collective returns it
}

// syncWritten syncs the writes of this process since the last sync.
func (s *sealer) syncWritten(sync bool) error {
	if !s.file.wrote.Swap(false) || !sync {
		return nil
	}
	return s.syncs(s.file.sync())
}

// reach extends the file to the end of these records, because possibly no rank has written the padding after the last record.
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

// finish sets the exact size of the file, and makes its number of records durable.
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

// Packed completes a compressed subfile with metadata, header and index. x is the index of all its blobs.
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

// Local completes this process's part of the subfile. exact means that no data follow these records.
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
			records = s.lay.Base + s.lay.Place.Blob.Records // the records that fit into the layout
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

// setSize sets the size of the file for these records. If exact is false, setSize only extends the file, because other ranks may
// have written further data that this client of a network file system does not see yet.
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

// writeContainer writes everything except the data of ranks: the header with the number of records, and the HDF5 metadata. It
// sets the size of the file, see setSize.
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
	if s.team.one() { // no other process writes to the file, so its size is known, and truncation, which makes some file systems flush all data, can be avoided
		if size, err := f.Size(); err != nil || size == s.lay.Place.FileSize(records) {
			return err
		}
	}
	return s.setSize(f, s.lay.Base+records, exact)
}
